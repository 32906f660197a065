// The matrix products of matmul_block.h in bf16, both operands rounded into scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/simd/bf16_loops.h"

namespace parallax {

struct MatMulBlock;

/// B [depth, columns] f32, or its transpose, in rows `stride` elements apart.
struct Bf16Source {
  const float* from = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
  std::int64_t depth = 0, columns = 0;
};
/// Rounds B into panels of kBf16Panel columns, one after the other, each [pairs_of(depth), its
/// columns rounded up to kBf16Vector]. `scratch` holds a transposed panel.
void pack_pairs(const Bf16Source& b, Bf16Pair* scratch, Bf16Pair* to);

/// Scratch that bf16_block needs, in bytes.
std::int64_t bf16_block_scratch_bytes();
void bf16_block(const MatMulBlock& block, std::span<std::byte> scratch);

}  // namespace parallax
