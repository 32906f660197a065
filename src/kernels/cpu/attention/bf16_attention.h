// FusedAttention in bf16, for heads whose rounded keys and values fit a second-level cache. Outputs
// differ from those in f32 by the rounding of Q, K, V and the weights; sums are f32. The kernel is
// immutable; tiles run concurrently. A tile rounds the keys and values of a batch once, into
// scratch, for all its blocks of queries.
#pragma once

#include <memory>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// Creates the kernel. Returns a null pointer for so few queries that packing would not pay, for
/// too many keys, and for too deep or too wide heads. Called for requests of precision bf16 alone.
/// REQUIRES: cpu_multiplies_bf16(); rows of Q, V and the result are contiguous, and rows or columns
/// of K.
std::unique_ptr<Kernel> make_bf16_attention(const AttentionShape& shape, const Machine& machine);

}  // namespace parallax
