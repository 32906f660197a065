// Matrix products on one thread; "work" counts floating point operations. Arguments: rows, depth,
// columns; for attention: batches, rows, depth, columns; before them the kernels, see
// bench_kernels().
#include <benchmark/benchmark.h>

#include <array>

#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

void constant_matmul(benchmark::State& state) {
  const std::int64_t rows = state.range(1), depth = state.range(2), columns = state.range(3);
  run_bench(state,
            {OpKind::kMatMul,
             test_inputs(random_floats({rows, depth}, 1), random_floats({depth, columns}, 2)),
             {},
             1,
             0b10},
            bench_kernels(state.range(0)), 2.0 * static_cast<double>(rows * depth * columns));
}
BENCHMARK(constant_matmul)
    ->ArgsProduct({{0, 1, 2}, {1, 8, 16, 64, 65, 256, 1500}, {384, 1536}, {384, 1536}})
    ->ArgsProduct({{0, 1, 2}, {8, 65, 256}, {768, 3072}, {768, 3072}});

void batched_matmul(benchmark::State& state) {
  const std::int64_t batches = state.range(1), rows = state.range(2), depth = state.range(3),
                     columns = state.range(4);
  run_bench(state,
            {OpKind::kMatMul, test_inputs(random_floats({batches, rows, depth}, 1),
                                          random_floats({batches, depth, columns}, 2))},
            bench_kernels(state.range(0)),
            2.0 * static_cast<double>(batches * rows * depth * columns));
}
void batched_sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t kernels : {0, 2})
    for (const auto& [batches, rows, depth, columns] :
         {std::array<std::int64_t, 4>{6, 1500, 64, 1500},
          {6, 1500, 1500, 64},
          {192, 49, 32, 49},
          {192, 49, 49, 32},
          {12, 4, 64, 4},
          {12, 64, 64, 64},
          {12, 128, 64, 128}})
      bench->Args({kernels, batches, rows, depth, columns});
}
BENCHMARK(batched_matmul)->Apply(batched_sizes);

}  // namespace
}  // namespace parallax
