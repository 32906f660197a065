// For benches: one node made ready by a kernel library, run tile after tile on one thread.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

class BenchKernel {
 public:
  /// The run's inputs must be of the sizes wanted; kernels that decline it stop the bench.
  BenchKernel(KernelRun run, const KernelMaker& make) : run_(std::move(run)) {
    graph_ = std::move(test_detail::one_node_graph(run_)).value();
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) {
      const TensorView view = run_.inputs[i]->view();
      const bool known = ((run_.constants >> i) & 1U) != 0;
      inputs_.push_back({true, view.dtype, view.dims, known ? view.bytes.data() : nullptr});
      runtime_.push_back({true, view.dtype, view.dims, view.bytes.data()});
      input_bytes_.push_back(view.bytes.data());
    }
    const Node& node = graph_.nodes[NodeId{0}];
    const auto dims = std::move(infer_runtime(node, runtime_)).value();
    const DType dtype = graph_.values[node.outputs[0]].dtype;
    output_ = std::move(Tensor::allocate(dtype, *dims[0])).value();
    outputs_.push_back({true, dtype, *dims[0], nullptr});
    auto made = make({node, inputs_, outputs_, packed_});
    if (!made || *made == nullptr) return;
    kernel_ = *std::move(made);
    scratch_ = std::move(AlignedBytes::allocate(kernel_->scratch_bytes())).value();
  }

  explicit operator bool() const { return kernel_ != nullptr; }
  std::int64_t tiles() const { return kernel_->tiles(); }

  void run() {
    std::byte* output = output_.mutable_view().bytes.data();
    const KernelArgs args{input_bytes_,
                          {&output, 1},
                          {scratch_.data(), static_cast<std::size_t>(scratch_.size())},
                          nullptr};
    for (std::int64_t tile = 0; tile < kernel_->tiles(); ++tile)
      benchmark::DoNotOptimize(kernel_->run_tile(tile, args));
  }

 private:
  KernelRun run_;
  Graph graph_;
  std::vector<TensorDesc> inputs_, outputs_;
  std::vector<RuntimeInput> runtime_;
  std::vector<const std::byte*> input_bytes_;
  Tensor output_;
  PackedWeights packed_;
  std::unique_ptr<Kernel> kernel_;
  AlignedBytes scratch_;
};

/// Returns the kernels that a benchmark's argument selects: 0 those of this folder in f32, 1 the
/// reference kernels, 2 those of this folder in bf16.
inline KernelMaker bench_kernels(std::int64_t which) {
  return [which](KernelRequest request) -> Result<std::unique_ptr<Kernel>> {
    if (which == 2 && !cpu_multiplies_bf16()) return std::unique_ptr<Kernel>();
    request.precision = which == 2 ? Precision::kBf16 : Precision::kF32;
    return test_detail::make_of(request,
                                which == 1 ? KernelLibrary::kReference : KernelLibrary::kCpu);
  };
}

/// Runs the kernel as often as the bench asks; `work` is counted per run.
inline void run_bench(benchmark::State& state, KernelRun run, const KernelMaker& make,
                      double work_per_run) {
  BenchKernel kernel(std::move(run), make);
  if (!kernel) {
    state.SkipWithError("the node is not taken");
    return;
  }
  for (auto _ : state) kernel.run();
  state.counters["tiles"] = static_cast<double>(kernel.tiles());
  state.counters["work"] =
      benchmark::Counter(work_per_run, benchmark::Counter::kIsIterationInvariantRate);
}

inline void run_bench(benchmark::State& state, KernelRun run, KernelLibrary library,
                      double work_per_run) {
  const auto make = [library](const KernelRequest& request) {
    return test_detail::make_of(request, library);
  };
  run_bench(state, std::move(run), make, work_per_run);
}

}  // namespace parallax
