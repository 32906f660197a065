// NumPy's element types by the codes of .npy files ("<f4"), and conversion between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parallax/tensor.h"

namespace parallax::cli {

std::string_view npy_type(DType dtype);
/// Nothing where it is none of Parallax's.
std::optional<DType> npy_dtype(std::string_view type);
/// "float64" for "<f8", "elements of type '<U5'" for what has no such name.
std::string npy_name(std::string_view type);
/// 0 for types that npy_convert does not take: big-endian numbers, texts, structures.
std::int64_t npy_element_bytes(std::string_view type);

struct UnfitElement {
  std::size_t index = 0;
  std::string value;
};
/// Converts elements of `type`. The first one that `to` cannot hold: an integer out of range, a
/// fraction or NaN for an integer, a float beyond float32. Nothing where all fit: floats are
/// rounded, for booleans all but 0 is true. REQUIRES: npy_element_bytes(type) > 0, as many elements
/// as `to` has.
std::optional<UnfitElement> npy_convert(std::string_view type, std::span<const std::byte> from,
                                        MutableTensorView to);

}  // namespace parallax::cli
