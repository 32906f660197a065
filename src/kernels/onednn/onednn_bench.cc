// All tiles of one node on one thread, in order: GFLOP/s of convolutions and products as they occur
// in the models.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"

namespace parallax {
namespace {

/// One node with all operands in memory, input 0 computed and the others constant.
struct BenchNode {
  Node node;
  std::vector<Dims> inputs;
  Dims output;
  double flops = 0;
};

void run_node(benchmark::State& state, const BenchNode& bench) {
  PackedWeights packed;
  std::vector<AlignedBytes> memory;
  const auto describe = [&memory](const Dims& dims) {
    const TensorDesc desc{true, DType::kF32, dims, nullptr};
    auto bytes = AlignedBytes::allocate(desc.bytes());
    auto* elements = reinterpret_cast<float*>(bytes->data());
    for (std::int64_t i = 0; i < desc.elements(); ++i) {
      elements[i] = static_cast<float>(i % 13) / 100.0F;
    }
    memory.push_back(*std::move(bytes));
    return desc;
  };
  std::vector<TensorDesc> inputs;
  std::vector<const std::byte*> data;
  for (const Dims& dims : bench.inputs) {
    inputs.push_back(describe(dims));
    data.push_back(memory.back().data());
    if (inputs.size() > 1) inputs.back().data = memory.back().data();
  }
  const std::vector<TensorDesc> outputs = {describe(bench.output)};
  std::byte* const out[] = {memory.back().data()};
  const auto made = make_kernel({bench.node, inputs, outputs, packed}, false);
  if (!made) return state.SkipWithError(made.error().message.c_str());
  const Kernel& kernel = *made->kernel;
  const std::int64_t bytes = kernel.scratch_bytes();
  const auto scratch = AlignedBytes::allocate(bytes);
  const KernelArgs args{data, out, {scratch->data(), static_cast<std::size_t>(bytes)}, nullptr};
  for ([[maybe_unused]] auto _ : state) {
    for (std::int64_t tile = 0; tile < kernel.tiles(); ++tile) {
      if (!kernel.run_tile(tile, args)) return state.SkipWithError("tile failed");
    }
  }
  state.SetLabel(std::string(made->row->name));
  state.counters["tiles"] = static_cast<double>(kernel.tiles());
  state.counters["GFLOP/s"] =
      benchmark::Counter(bench.flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// Args: channels, height, width, filters, kernel, stride, NHWC.
void convolution(benchmark::State& state) {
  const auto arg = [&state](int i) { return state.range(i); };
  const std::int64_t pad = arg(4) / 2;
  const std::int64_t height = (arg(1) + 2 * pad - arg(4)) / arg(5) + 1;
  const std::int64_t width = (arg(2) + 2 * pad - arg(4)) / arg(5) + 1;
  const bool nhwc = arg(6) != 0;
  BenchNode bench;
  bench.node.op = OpKind::kConv;
  bench.node.attributes.set("strides", std::vector<std::int64_t>{arg(5), arg(5)});
  bench.node.attributes.set("pads", std::vector<std::int64_t>{pad, pad, pad, pad});
  bench.node.epilogue.activation.op = OpKind::kSilu;
  bench.node.attributes.set("layout", std::string(nhwc ? "NHWC" : "NCHW"));
  bench.inputs = {nhwc ? Dims{1, arg(1), arg(2), arg(0)} : Dims{1, arg(0), arg(1), arg(2)},
                  Dims{arg(3), arg(0), arg(4), arg(4)}, Dims{arg(3)}};
  bench.output = nhwc ? Dims{1, height, width, arg(3)} : Dims{1, arg(3), height, width};
  bench.flops = 2.0 * static_cast<double>(bench.output.elements() * arg(0) * arg(4) * arg(4));
  run_node(state, bench);
}
BENCHMARK(convolution)
    ->ArgNames({"C", "H", "W", "M", "k", "s", "nhwc"})
    ->ArgsProduct({{3}, {640}, {640}, {16}, {3}, {2}, {0, 1}})
    ->ArgsProduct({{32}, {160}, {160}, {64}, {3}, {2}, {0, 1}})
    ->ArgsProduct({{64}, {80}, {80}, {64}, {3}, {1}, {0, 1}})
    ->ArgsProduct({{384}, {40}, {40}, {128}, {1}, {1}, {0, 1}})
    ->ArgsProduct({{128}, {20}, {20}, {128}, {3}, {1}, {0, 1}})
    ->ArgsProduct({{16}, {4}, {8400}, {1}, {1}, {1}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace parallax
