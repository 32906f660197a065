// Facts of activations that passes write and kernels read.
#pragma once

namespace parallax {

/// x * Sigmoid(alpha x) with this alpha is the quick Gelu.
inline constexpr float kQuickGeluAlpha = 1.702F;

}  // namespace parallax
