// Memory-bound operators on one thread; "work" counts elements. Arguments: rows, columns.
#include <benchmark/benchmark.h>

#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

double elements(const benchmark::State& state) {
  return static_cast<double>(state.range(0) * state.range(1));
}

void softmax(benchmark::State& state) {
  run_bench(state,
            {OpKind::kSoftmax, test_inputs(random_floats({state.range(0), state.range(1)}, 1))},
            KernelLibrary::kCpu, elements(state));
}
BENCHMARK(softmax)->Args({9408, 49})->Args({768, 64})->Args({9000, 1500});

void layer_normalization(benchmark::State& state) {
  const Dims width{state.range(1)};
  run_bench(
      state,
      {OpKind::kLayerNormalization, test_inputs(random_floats({state.range(0), state.range(1)}, 1),
                                                random_floats(width, 2), random_floats(width, 3))},
      KernelLibrary::kCpu, elements(state));
}
BENCHMARK(layer_normalization)->Args({64, 768})->Args({1500, 384})->Args({3136, 96});

void transpose(benchmark::State& state) {
  run_bench(state,
            {OpKind::kTranspose, test_inputs(random_floats({state.range(0), state.range(1)}, 1))},
            KernelLibrary::kCpu, elements(state));
}
BENCHMARK(transpose)->Args({1500, 384})->Args({3, 409600})->Args({144, 8400});

void gelu(benchmark::State& state) {
  run_bench(state, {OpKind::kGelu, test_inputs(random_floats({state.range(0), state.range(1)}, 1))},
            KernelLibrary::kCpu, elements(state));
}
BENCHMARK(gelu)->Args({1500, 1536});

void add(benchmark::State& state) {
  run_bench(state,
            {OpKind::kAdd, test_inputs(random_floats({state.range(0), state.range(1)}, 1),
                                       random_floats({state.range(0), state.range(1)}, 2))},
            KernelLibrary::kCpu, elements(state));
}
BENCHMARK(add)->Args({1500, 384})->Args({9000, 1500});

}  // namespace
}  // namespace parallax
