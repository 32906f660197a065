// FusedAttention on one thread; "work" counts floating point operations of its two products.
// Arguments: heads, queries, keys, depth. As it comes from projections ("heads"), the matrices of
// the heads lie side by side; "batches" has them one after the other, K by columns.
#include <benchmark/benchmark.h>

#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

void batches(benchmark::State& state) {
  const std::int64_t n = state.range(0), queries = state.range(1), keys = state.range(2),
                     depth = state.range(3);
  run_bench(state,
            {OpKind::kFusedAttention,
             test_inputs(random_floats({n, queries, depth}, 1), random_floats({n, depth, keys}, 2),
                         random_floats({n, keys, depth}, 3))},
            KernelLibrary::kCpu, 4.0 * static_cast<double>(n * queries * keys * depth));
}

void heads(benchmark::State& state) {
  const std::int64_t n = state.range(0), queries = state.range(1), keys = state.range(2),
                     depth = state.range(3);
  run_bench(state,
            {OpKind::kFusedAttention,
             test_inputs(random_floats({queries, n, depth}, 1), random_floats({keys, n, depth}, 2),
                         random_floats({keys, n, depth}, 3)),
             test_attributes({{"q_perm", Ints{1, 0, 2}},
                              {"k_perm", Ints{1, 2, 0}},
                              {"v_perm", Ints{1, 0, 2}},
                              {"y_perm", Ints{1, 0, 2}}})},
            KernelLibrary::kCpu, 4.0 * static_cast<double>(n * queries * keys * depth));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Args({6, 1500, 1500, 64})
      ->Args({6, 16, 1500, 64})
      ->Args({6, 1, 1500, 64})
      ->Args({12, 8, 8, 64})
      ->Args({12, 23, 23, 64})
      ->Args({12, 64, 64, 64})
      ->Args({12, 77, 77, 64})
      ->Args({12, 512, 512, 64})
      ->Args({192, 49, 49, 32})
      ->Args({1, 96, 1500, 384})
      ->Args({1, 320, 1500, 1280})
      ->Args({1, 2048, 2048, 512})
      ->Args({1, 1024, 1024, 512});
}
BENCHMARK(batches)->Apply(sizes);
BENCHMARK(heads)->Apply(sizes);

}  // namespace
}  // namespace parallax
