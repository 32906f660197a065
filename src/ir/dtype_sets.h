// The sets of element types that operators are defined for. Kernels need not know all of a set:
// make_for (kernels/reference/common.h) visits the native ones, the registry widens the others.
#pragma once

#include "parallax/dtype.h"

namespace parallax {

/// The floats that operators compute with. Those of 8 and 4 bits only hold weights.
inline constexpr DTypeSet kFloatTypes = dtypes_where(
    [](const DTypeInfo& type) { return type.kind == DTypeClass::kFloat && type.bits >= 16; });
/// Those and the integers of whole bytes.
inline constexpr DTypeSet kNumericTypes =
    kFloatTypes | dtypes_where([](const DTypeInfo& type) {
      return (type.kind == DTypeClass::kSigned || type.kind == DTypeClass::kUnsigned) &&
             type.bits >= 8;
    });
inline constexpr DTypeSet kBoolTypes = dtype_bit(DType::kBool);
/// Types that nearly every operator that moves elements accepts. The few that also have floats of 8
/// bits and elements below a byte in the standard accept kSizedTypes.
inline constexpr DTypeSet kAllTypes = kNumericTypes | kBoolTypes;

inline constexpr DTypeSet kUnsignedTypes = kNumericTypes & dtypes_where([](const DTypeInfo& type) {
                                             return type.kind == DTypeClass::kUnsigned;
                                           });
inline constexpr DTypeSet kSignedTypes = kNumericTypes & ~kUnsignedTypes;
/// Floats and the integers that hold sizes and sums.
inline constexpr DTypeSet kWideTypes =
    kFloatTypes | (kNumericTypes & dtypes_where([](const DTypeInfo& t) { return t.bits >= 32; }));
inline constexpr DTypeSet kFloatOrByteTypes =
    kFloatTypes |
    (kNumericTypes & dtypes_where([](const DTypeInfo& type) { return type.bits == 8; }));
inline constexpr DTypeSet kIndexTypes = dtype_bit(DType::kI32) | dtype_bit(DType::kI64);
inline constexpr DTypeSet kI64Types = dtype_bit(DType::kI64);
/// Elements of small tensors may be known as expressions (Value::content).
inline constexpr DTypeSet kContentTypes = kIndexTypes | kBoolTypes;

}  // namespace parallax
