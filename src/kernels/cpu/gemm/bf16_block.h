// The matrix products of matmul_block.h in bf16, both operands rounded into scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/gemm/bf16_loops.h"

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
/// columns rounded up to kBf16Vector]. `scratch` holds a panel of a transposed B.
void pack_pairs(const Bf16Source& b, Bf16Pair* scratch, Bf16Pair* to);

/// C[rows, columns] (+)= A[rows, 2 pairs] B, whose panels lie as pack_pairs() leaves them.
struct Bf16Product {
  const Bf16Pair* a = nullptr;  ///< rows one after the other
  std::int64_t pairs = 0;
  const Bf16Pair* b = nullptr;
  std::int64_t panel_pairs = 0;  ///< rows of a whole panel, of which the first `pairs` count
  float* c = nullptr;
  std::int64_t c_stride = 0, rows = 0, columns = 0;
  bool accumulate = false;
};
void multiply_pairs(const Bf16Product& product);

/// Scratch that bf16_block needs, in bytes.
std::int64_t bf16_block_scratch_bytes();
void bf16_block(const MatMulBlock& block, std::span<std::byte> scratch);

}  // namespace parallax
