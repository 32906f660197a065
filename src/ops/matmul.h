// An attribute of MatMul that passes write and kernels read.
#pragma once

#include <string_view>

namespace parallax {

/// The right operand is Transpose(input 1, perm). Absent: the input as it is.
inline constexpr std::string_view kMatMulPerm = "b_perm";

}  // namespace parallax
