// The sets of element types that operators are defined for, as far as kernels take them: a type
// joins its sets when its row of parallax/dtypes.def says that it is computed.
#pragma once

#include "parallax/dtype.h"

namespace parallax {

constexpr bool is_number(const DTypeInfo& type) {
  return type.kind == DTypeClass::kFloat || type.kind == DTypeClass::kSigned ||
         type.kind == DTypeClass::kUnsigned;
}

inline constexpr DTypeSet kAllTypes = kComputedTypes;
inline constexpr DTypeSet kFloatTypes = kComputedTypes & dtypes_where([](const DTypeInfo& type) {
                                          return type.kind == DTypeClass::kFloat;
                                        });
inline constexpr DTypeSet kNumericTypes = kComputedTypes & dtypes_where(is_number);
inline constexpr DTypeSet kSignedTypes = kNumericTypes & dtypes_where([](const DTypeInfo& type) {
                                           return type.kind != DTypeClass::kUnsigned;
                                         });
/// Floats and the integers that hold sizes and sums.
inline constexpr DTypeSet kWideTypes =
    kSignedTypes & (kFloatTypes | dtypes_where([](const DTypeInfo& t) { return t.bits >= 32; }));
inline constexpr DTypeSet kFloatOrByteTypes =
    kFloatTypes |
    (kNumericTypes & dtypes_where([](const DTypeInfo& type) { return type.bits == 8; }));
inline constexpr DTypeSet kIndexTypes = dtype_bit(DType::kI32) | dtype_bit(DType::kI64);
inline constexpr DTypeSet kI64Types = dtype_bit(DType::kI64);
inline constexpr DTypeSet kBoolTypes = dtype_bit(DType::kBool);
/// Elements of small tensors may be known as expressions (Value::content).
inline constexpr DTypeSet kContentTypes = kIndexTypes | kBoolTypes;

}  // namespace parallax
