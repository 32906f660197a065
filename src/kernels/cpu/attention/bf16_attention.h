// FusedAttention in bf16 whose rounded keys and values fit a second-level cache.
#pragma once

#include <memory>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// A null pointer for so few queries that packing would not pay, and for too many keys.
/// REQUIRES: rows of Q, V and the result are contiguous, and rows or columns of K.
std::unique_ptr<Kernel> make_bf16_attention(const AttentionShape& shape, const Machine& machine);

}  // namespace parallax
