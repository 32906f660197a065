// The DType of a C++ element type, as a constant.
#pragma once

#include "parallax/tensor.h"

namespace parallax {

/// Defined for element types only.
template <class T>
struct DTypeOf;
#define PX_DTYPE(name, type, numpy, onnx)       \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
#include "parallax/dtypes.def"
#undef PX_DTYPE

/// Any other type does not compile.
template <class T>
requires requires { DTypeOf<T>::value; }
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

}  // namespace parallax
