// The elements that a file has for a constant of f32 which is made of them one by one. Kernels that
// pack weights of 16 or 8 bits read these, so that nothing computes the f32. Pure functions;
// callers are passes that make such constants, and kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace parallax {

struct StoredForm {
  Constant source;  ///< f32, f16, i8 or u8; lies in a file, and keeps it mapped
  /// Element (i0, i1, ..) of the constant is made of the element of `source` at the sum of i[axis]
  /// * strides[axis]; 0 from the rank on.
  std::array<std::int64_t, Dims::kMaxRank> strides{};

  std::int64_t stride(int axis) const { return strides[static_cast<std::size_t>(axis)]; }
};

/// Returns the form of a constant itself if it has one of the dtypes and takes no memory: it was
/// not charged.
std::optional<StoredForm> own_form(const Constant& constant);
/// Returns the form of a constant with dimensions `from` as that of Transpose(constant, perm).
/// REQUIRES: `perm` is empty, which reverses the axes, or a permutation.
StoredForm transposed_form(const StoredForm& form, const Dims& from,
                           std::span<const std::int64_t> perm);
/// Returns the form of a constant with dimensions `from` as that of its Reshape to `to`; nullopt if
/// elements do not follow each other in the file. REQUIRES: `to` has as many elements.
std::optional<StoredForm> reshaped_form(const StoredForm& form, const Dims& from, const Dims& to);

}  // namespace parallax
