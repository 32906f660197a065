// Inputs and outputs of Attention, for inference and kernels.
#pragma once

#include <cstddef>

namespace parallax {

/// Inputs and outputs of Attention.
struct AttentionInput {
  static constexpr std::size_t kQ = 0, kK = 1, kV = 2, kMask = 3, kPastKey = 4, kPastValue = 5,
                               kLengths = 6;
};
struct AttentionOutput {
  static constexpr std::size_t kY = 0, kPresentKey = 1, kPresentValue = 2, kScores = 3;
};

}  // namespace parallax
