// FusedAttention on one thread; "work" counts floating point operations of its two products.
// Arguments: batches, queries, keys, depth.
#include <benchmark/benchmark.h>

#include "kernels/simd/simd_bench_util.h"

namespace parallax {
namespace {

void attention(benchmark::State& state) {
  const std::int64_t batches = state.range(0), queries = state.range(1), keys = state.range(2),
                     depth = state.range(3);
  run_bench(state,
            {OpKind::kFusedAttention, test_inputs(random_floats({batches, queries, depth}, 1),
                                                  random_floats({batches, depth, keys}, 2),
                                                  random_floats({batches, keys, depth}, 3))},
            KernelLibrary::kSimd, 4.0 * static_cast<double>(batches * queries * keys * depth));
}
BENCHMARK(attention)
    ->Args({6, 1500, 1500, 64})
    ->Args({6, 16, 1500, 64})
    ->Args({6, 1, 1500, 64})
    ->Args({12, 8, 8, 64})
    ->Args({12, 23, 23, 64})
    ->Args({12, 64, 64, 64})
    ->Args({12, 77, 77, 64})
    ->Args({192, 49, 49, 32})
    ->Args({12, 512, 512, 64});

}  // namespace
}  // namespace parallax
