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

/// "<f4"; empty where NumPy lacks the type.
std::string npy_type(DType dtype);
/// Nothing for big-endian numbers, texts and structures.
std::optional<DType> npy_dtype(std::string_view type);
/// "float64" for "<f8", "elements of type '<U5'" for what has no such name.
std::string npy_name(std::string_view type);

struct UnfitElement {
  std::size_t index = 0;
  std::string value;
};
/// Converts elements of `type`. The first one that `to` cannot hold: an integer out of range, a
/// fraction or NaN for an integer, a float beyond float32. Nothing where all fit: floats are
/// rounded, for booleans all but 0 is true. REQUIRES: a type with an npy_type(), as many elements
/// as `to` has.
std::optional<UnfitElement> npy_convert(DType type, std::span<const std::byte> from,
                                        MutableTensorView to);

}  // namespace parallax::cli
