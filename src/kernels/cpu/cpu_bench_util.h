// Helpers of benchmarks: one node, prepared by a kernel library, whose tiles run one after the
// other on the calling thread. Not thread-safe; each benchmark creates its own BenchKernel.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

/// The kernel of one node with its inputs, result and scratch, ready to run. It owns all buffers:
/// inputs are those of the KernelRun, the result is allocated once and overwritten by each run.
class BenchKernel {
 public:
  /// Creates the kernel for the node of `run` and its inputs. Inputs whose bit is set in
  /// KernelRun::constants are constants that the kernel may pack. After an error of `make`, and if
  /// it returns null because it does not cover the node, the object is false and must not run.
  /// REQUIRES: shapes can be inferred and memory suffices; otherwise the process ends.
  BenchKernel(KernelRun run, const KernelMaker& make) : run_(std::move(run)) {
    graph_ = std::move(test_detail::one_node_graph(run_)).value();
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) {
      const TensorView view = run_.inputs[i]->view();
      const bool known = ((run_.constants >> i) & 1U) != 0;
      inputs_.push_back({true, view.dtype, view.dims, known ? view.bytes.data() : nullptr});
      runtime_.push_back({true, view.dtype, view.dims, view.bytes.data()});
      input_bytes_.push_back(view.bytes.data());
    }
    // The result's shape is inferred from the inputs, including those that are no constants.
    const Node& node = graph_.nodes[NodeId{0}];
    const auto dims = std::move(infer_runtime(node, runtime_)).value();
    const DType dtype = graph_.values[node.outputs[0]].dtype;
    output_ = std::move(Tensor::allocate(dtype, *dims[0])).value();
    outputs_.push_back({true, dtype, *dims[0], nullptr});
    // Constants are packed here, once, so that run() measures only the kernel.
    auto made = make({node, inputs_, outputs_, packed_});
    if (!made || *made == nullptr) return;
    kernel_ = *std::move(made);
    scratch_ = std::move(AlignedBytes::allocate(kernel_->scratch_bytes())).value();
  }

  /// Returns true if there is a kernel to run.
  explicit operator bool() const { return kernel_ != nullptr; }
  /// Returns the number of tiles of a run. REQUIRES: there is a kernel.
  std::int64_t tiles() const { return kernel_->tiles(); }

  /// Runs all tiles in order. Errors of tiles are ignored. REQUIRES: there is a kernel.
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
  KernelRun run_;  ///< owns the inputs
  Graph graph_;
  /// Descriptions that the kernel was created from; only constants have data.
  std::vector<TensorDesc> inputs_, outputs_;
  std::vector<RuntimeInput> runtime_;  ///< all inputs with data, to infer the result's shape
  std::vector<const std::byte*> input_bytes_;
  Tensor output_;
  PackedWeights packed_;  ///< packed constants, which the kernel refers to
  std::unique_ptr<Kernel> kernel_;
  AlignedBytes scratch_;
};

/// Returns the kernels that a benchmark's argument selects: 0 those of this folder in f32, 1 the
/// reference kernels, 2 those of this folder in bf16.
inline KernelMaker bench_kernels(std::int64_t which) {
  return [which](KernelRequest request) -> Result<std::unique_ptr<Kernel>> {
    // A null kernel, which skips the benchmark, if the CPU lacks the instructions.
    if (which == 2 && !cpu_multiplies_bf16()) return std::unique_ptr<Kernel>();
    request.precision = which == 2 ? Precision::kBf16 : Precision::kF32;
    return test_detail::make_of(request,
                                which == 1 ? KernelLibrary::kReference : KernelLibrary::kCpu);
  };
}

/// Creates the kernel and runs it as often as the benchmark asks; skips the benchmark with an error
/// if there is no kernel. Reports the counters "tiles" and "work": `work_per_run`, in any unit such
/// as multiply-accumulates, per second.
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

/// Runs the kernel that `library` chooses for the node, as above.
inline void run_bench(benchmark::State& state, KernelRun run, KernelLibrary library,
                      double work_per_run) {
  const auto make = [library](const KernelRequest& request) {
    return test_detail::make_of(request, library);
  };
  run_bench(state, std::move(run), make, work_per_run);
}

}  // namespace parallax
