// The matrix products of matmul_block.h in bf16, both operands rounded into scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

struct MatMulBlock;

/// Scratch that bf16_block needs, in bytes.
std::int64_t bf16_block_scratch_bytes();
void bf16_block(const MatMulBlock& block, std::span<std::byte> scratch);

}  // namespace parallax
