// Convolutions as they occur in models, all tiles on one thread; "work" counts the operations of
// the direct sum, whichever way is taken. Arguments: way, height and width, channels, filters.
// Ways: 1 the library's choice, 2 F(2x2), 3 F(4x4).
#include <benchmark/benchmark.h>

#include "kernels/cpu/convolution/convolution_test_util.h"
#include "kernels/cpu/convolution/winograd.h"
#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

KernelMaker maker_of(std::int64_t way) {
  return [way](const KernelRequest& request) -> Result<std::unique_ptr<Kernel>> {
    if (way == 1) return test_detail::make_of(request, KernelLibrary::kCpu);
    return make_winograd(request, *convolution_shape(request),
                         way == 2 ? WinogradForm::k2x2 : WinogradForm::k4x4);
  };
}

void run_convolution(benchmark::State& state, std::int64_t taps, std::int64_t stride) {
  const std::int64_t size = state.range(1), channels = state.range(2), filters = state.range(3);
  const std::int64_t pad = taps / 2, out = (size + 2 * pad - taps) / stride + 1;
  ConvolutionCase row{"", {1, size, size, channels}, filters, {taps, taps}, {pad, pad, pad, pad}};
  row.strides = {stride, stride};
  run_bench(state, convolution_run(row, true, "Silu"), maker_of(state.range(0)),
            2.0 * static_cast<double>(out * out * channels * filters * taps * taps));
}

void convolution_3x3(benchmark::State& state) { run_convolution(state, 3, 1); }
BENCHMARK(convolution_3x3)
    ->ArgsProduct({{1, 2, 3}, {160}, {16}, {16}})
    ->ArgsProduct({{1, 2, 3}, {80}, {32}, {32}})
    ->ArgsProduct({{1, 2, 3}, {80}, {64}, {64, 80}})
    ->ArgsProduct({{1, 2, 3}, {80}, {80}, {80}})
    ->ArgsProduct({{1, 2, 3}, {40}, {64}, {64}})
    ->ArgsProduct({{1, 2, 3}, {40}, {128}, {64, 80}})
    ->ArgsProduct({{1, 2, 3}, {40}, {80}, {80}})
    ->ArgsProduct({{1, 2, 3}, {20}, {64}, {64}})
    ->ArgsProduct({{1, 2, 3}, {20}, {128}, {128}})
    ->ArgsProduct({{1, 2, 3}, {20}, {256}, {64, 80}})
    ->ArgsProduct({{1, 2, 3}, {56}, {64}, {64}})
    ->ArgsProduct({{1, 2, 3}, {28}, {128}, {128}})
    ->ArgsProduct({{1, 2, 3}, {14}, {256}, {256}})
    ->ArgsProduct({{1, 2, 3}, {7}, {512}, {512}})
    ->ArgsProduct({{1, 2, 3}, {224}, {3}, {16, 64}})
    ->ArgsProduct({{1, 2, 3}, {112}, {8, 16}, {8, 32}})
    ->ArgsProduct({{1, 2, 3}, {5, 10}, {64}, {64}});

void convolution_3x3_stride2(benchmark::State& state) { run_convolution(state, 3, 2); }
BENCHMARK(convolution_3x3_stride2)
    ->ArgsProduct({{1}, {640}, {3}, {16}})
    ->ArgsProduct({{1}, {320}, {16}, {32}})
    ->ArgsProduct({{1}, {160}, {32}, {64}})
    ->ArgsProduct({{1}, {80}, {64}, {64, 128}})
    ->ArgsProduct({{1}, {40}, {128}, {128, 256}});

void convolution_1x1(benchmark::State& state) { run_convolution(state, 1, 1); }
BENCHMARK(convolution_1x1)
    ->ArgsProduct({{1}, {160}, {32, 48}, {32}})
    ->ArgsProduct({{1}, {80}, {64, 96, 128, 192}, {64}})
    ->ArgsProduct({{1}, {80, 40, 20}, {80}, {80}})
    ->ArgsProduct({{1}, {40}, {128, 192, 256, 384}, {128}})
    ->ArgsProduct({{1}, {20}, {256, 384, 512}, {256}})
    ->ArgsProduct({{1}, {20}, {64, 256}, {64, 128}});

/// Measures Whisper's first convolution: 3 taps along one axis. Argument: 1, kernels of this
/// folder.
void convolution_line(benchmark::State& state) {
  const ConvolutionCase row{"", {1, 1, 3000, 80}, 384, {1, 3}, {0, 1, 0, 1}};
  run_bench(state, convolution_run(row, true, "Gelu"), maker_of(state.range(0)),
            2.0 * 3000 * 80 * 384 * 3);
}
BENCHMARK(convolution_line)->Arg(1);

/// Measures Whisper's second convolution, with stride 2.
void convolution_line_stride2(benchmark::State& state) {
  ConvolutionCase row{"", {1, 1, 3000, 384}, 384, {1, 3}, {0, 1, 0, 1}};
  row.strides = {1, 2};
  run_bench(state, convolution_run(row, true, "Gelu"), maker_of(state.range(0)),
            2.0 * 1500 * 384 * 384 * 3);
}
BENCHMARK(convolution_line_stride2)->Arg(1);

}  // namespace
}  // namespace parallax
