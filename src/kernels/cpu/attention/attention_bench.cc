// FusedAttention on one thread; "work" counts floating point operations of its two products.
// Arguments: kernels (bench_kernels()), heads, queries, keys, depth. As it comes from projections
// ("heads"), the matrices of the heads lie side by side; "batches" has them one after the other, K
// by columns.
#include <benchmark/benchmark.h>

#include <array>

#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

void batches(benchmark::State& state) {
  const std::int64_t n = state.range(1), queries = state.range(2), keys = state.range(3),
                     depth = state.range(4);
  run_bench(state,
            {OpKind::kFusedAttention,
             test_inputs(random_floats({n, queries, depth}, 1), random_floats({n, depth, keys}, 2),
                         random_floats({n, keys, depth}, 3))},
            bench_kernels(state.range(0)), 4.0 * static_cast<double>(n * queries * keys * depth));
}

void heads(benchmark::State& state) {
  const std::int64_t n = state.range(1), queries = state.range(2), keys = state.range(3),
                     depth = state.range(4);
  run_bench(state,
            {OpKind::kFusedAttention,
             test_inputs(random_floats({queries, n, depth}, 1), random_floats({keys, n, depth}, 2),
                         random_floats({keys, n, depth}, 3)),
             test_attributes({{"q_perm", Ints{1, 0, 2}},
                              {"k_perm", Ints{1, 2, 0}},
                              {"v_perm", Ints{1, 0, 2}},
                              {"y_perm", Ints{1, 0, 2}}})},
            bench_kernels(state.range(0)), 4.0 * static_cast<double>(n * queries * keys * depth));
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t kernels : {0, 2})
    for (const auto& [n, queries, keys, depth] : {std::array<std::int64_t, 4>{6, 1500, 1500, 64},
                                                  {6, 16, 1500, 64},
                                                  {6, 1, 1500, 64},
                                                  {12, 8, 8, 64},
                                                  {12, 23, 23, 64},
                                                  {12, 64, 64, 64},
                                                  {12, 77, 77, 64},
                                                  {12, 512, 512, 64},
                                                  {192, 49, 49, 32},
                                                  {1, 96, 1500, 384},
                                                  {1, 320, 1500, 1280},
                                                  {1, 2048, 2048, 512},
                                                  {1, 1024, 1024, 512}})
      bench->Args({kernels, n, queries, keys, depth});
}
BENCHMARK(batches)->Apply(sizes);
BENCHMARK(heads)->Apply(sizes);

}  // namespace
}  // namespace parallax
