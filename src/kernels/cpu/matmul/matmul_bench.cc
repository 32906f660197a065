// Matrix products on one thread; "work" counts floating point operations. Arguments: rows, depth,
// columns; for attention: batches, rows, depth, columns. Libraries: 0 Highway, 1 reference.
#include <benchmark/benchmark.h>

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
            static_cast<KernelLibrary>(state.range(0)),
            2.0 * static_cast<double>(rows * depth * columns));
}
BENCHMARK(constant_matmul)
    ->ArgsProduct({{0, 1}, {1, 8, 16, 64, 65, 256, 1500}, {384, 1536}, {384, 1536}})
    ->ArgsProduct({{0, 1}, {8, 65, 256}, {768, 3072}, {768, 3072}});

void batched_matmul(benchmark::State& state) {
  const std::int64_t batches = state.range(0), rows = state.range(1), depth = state.range(2),
                     columns = state.range(3);
  run_bench(state,
            {OpKind::kMatMul, test_inputs(random_floats({batches, rows, depth}, 1),
                                          random_floats({batches, depth, columns}, 2))},
            KernelLibrary::kCpu, 2.0 * static_cast<double>(batches * rows * depth * columns));
}
BENCHMARK(batched_matmul)
    ->Args({6, 1500, 64, 1500})
    ->Args({6, 1500, 1500, 64})
    ->Args({192, 49, 32, 49})
    ->Args({192, 49, 49, 32})
    ->Args({12, 4, 64, 4})
    ->Args({12, 64, 64, 64})
    ->Args({12, 128, 64, 128});

}  // namespace
}  // namespace parallax
