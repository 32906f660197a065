// Inputs and outputs of Attention, for inference and kernels; its attributes are AttentionParams
// (ops/params/attention.h).
#pragma once

#include <cstddef>

namespace parallax {

/// Inputs: Q, K, V; a mask of bools (true: seen) or numbers to be added, which broadcasts to
/// [batch, heads, queries, keys] and whose last axis may be shorter; past keys and values [batch,
/// kv heads, past, size], both or neither; lengths of sequences [batch] (i64), not with past ones.
struct AttentionInput {
  static constexpr std::size_t kQ = 0, kK = 1, kV = 2, kMask = 3, kPastKey = 4, kPastValue = 5,
                               kLengths = 6;
};
/// Outputs: the result, in the layout of Q; present keys and values, the past ones with the new
/// ones behind them; scores [batch, heads, queries, keys] as AttentionParams::scores_mode says.
struct AttentionOutput {
  static constexpr std::size_t kY = 0, kPresentKey = 1, kPresentValue = 2, kScores = 3;
};

}  // namespace parallax
