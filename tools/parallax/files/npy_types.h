// NumPy's element types by the codes of .npy files ("<f4"), and conversion between them. Elements
// of types that NumPy lacks are there as ml_dtypes writes them: bytes without a meaning, those of
// 2 and 4 bits a byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parallax/tensor.h"

namespace parallax::cli {

/// "<f4"; empty for a type without a fixed size.
std::string npy_type(DType dtype);
/// Nothing for big-endian numbers, texts, structures, and bytes whose type NumPy lacks.
std::optional<DType> npy_dtype(std::string_view type);
/// Whether elements of such a code may be those of `dtype`.
bool npy_holds(std::string_view type, DType dtype);
/// "float64" for "<f8", "elements of type '<U5'" for what has no such name.
std::string npy_name(std::string_view type);

/// The type of the bytes that a file has for elements of `dtype`: kU8 for those below a byte, else
/// `dtype` itself.
DType npy_layout(DType dtype);
/// A tensor of such bytes as one of `dtype`, and back. Errors: kOutOfMemory.
Result<Tensor> npy_pack(const TensorView& bytes, DType dtype);
Result<Tensor> npy_unpack(const TensorView& tensor);

struct UnfitElement {
  std::size_t index = 0;
  std::string value;
};
/// Converts elements of `type`. Returns the first one that `to` cannot hold: an integer out of
/// range, a fraction or NaN for an integer, a float beyond all floats of the type. Nullopt if all
/// fit: floats are rounded, for booleans all but 0 is true. REQUIRES: a type that npy_dtype() gave,
/// as many elements as `to` has.
std::optional<UnfitElement> npy_convert(DType type, std::span<const std::byte> from,
                                        MutableTensorView to);

}  // namespace parallax::cli
