// Attributes of FusedAttention that passes write and kernels read.
#pragma once

#include <array>
#include <string_view>

namespace parallax {

/// Of inputs Q, K and V: the operand is Transpose(input, perm). Absent: the input as it is.
inline constexpr std::array<std::string_view, 3> kAttentionPerms = {"q_perm", "k_perm", "v_perm"};
/// The output is Transpose(result, perm).
inline constexpr std::string_view kAttentionOutputPerm = "y_perm";

}  // namespace parallax
