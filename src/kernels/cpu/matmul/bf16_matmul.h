// Products of f32 rows with constant weights in bf16, sums in f32.
#pragma once

#include <memory>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/kernel.h"

namespace parallax {

/// activation(A B + bias): A, input 0, is [rows, depth] f32, B is `source`, bias, input 2 where
/// there is one, [columns]. depth > 0, columns > 0. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_bf16_matmul(const PackSource& source, std::int64_t rows,
                                                 const Unary& activation, PackedWeights& packed);

}  // namespace parallax
