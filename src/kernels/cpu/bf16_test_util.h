// For tests of bf16 products: the rounding, written plainly, and a node run with it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/status.h"
#include "kernels/bf16.h"
#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

/// Skips tests of products if this CPU cannot compute them.
#define PX_NEEDS_BF16() \
  if (!cpu_multiplies_bf16()) GTEST_SKIP() << "this CPU does not have " << kBf16InstructionSet

/// Returns the nearest bf16, as an f32; to even if two are equally near. Denormals become zero.
inline float rounded_to_bf16(float x) {
  if (std::isnan(x)) return x;
  if (std::abs(x) < std::numeric_limits<float>::min()) return std::copysign(0.0F, x);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFU + (bits >> 16U & 1U)) & 0xFFFF0000U);
}

inline Tensor rounded_to_bf16(const Tensor& tensor) {
  std::vector<float> elements = test_values<float>(tensor);
  for (float& x : elements) x = rounded_to_bf16(x);
  return test_tensor<float>(tensor.dims(), elements);
}

/// Returns the same node with inputs 0 and 1 rounded. REQUIRES: all inputs are given, and f32.
inline KernelRun with_rounded_operands(const KernelRun& run) {
  KernelRun rounded{run.op, {}, run.attributes, run.outputs, run.constants, run.epilogue};
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Tensor& input = *run.inputs[i];
    rounded.inputs.emplace_back(i < 2
                                    ? rounded_to_bf16(input)
                                    : test_tensor<float>(input.dims(), test_values<float>(input)));
  }
  return rounded;
}

/// A kernel whose tiles one thread runs one after the other, each with the scratch of the one
/// before.
class TilesInARow final : public Kernel {
 public:
  explicit TilesInARow(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  std::int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  InputUse input_use(std::size_t i) const override { return kernel_->input_use(i); }
  Status run_tile(std::int64_t, const KernelArgs& args) const override {
    KernelArgs next = args;
    for (std::int64_t tile = 0; tile < kernel_->tiles(); next.previous_tile = tile++)
      PX_RETURN_IF_ERROR(kernel_->run_tile(tile, next));
    return {};
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

inline Result<std::unique_ptr<Kernel>> make_in_bf16(KernelRequest request) {
  request.precision = Precision::kBf16;
  return test_detail::make_of(request, KernelLibrary::kCpu);
}

/// Runs each tile with fresh scratch; returns an error if running tiles in a row gives other bits.
inline Result<KernelOutcome> run_in_bf16(const KernelRun& run) {
  PX_ASSIGN(KernelOutcome outcome, run_kernel_tiles(run, make_in_bf16));
  const auto in_a_row = [](const KernelRequest& request) -> Result<std::unique_ptr<Kernel>> {
    PX_ASSIGN(std::unique_ptr<Kernel> kernel, make_in_bf16(request));
    if (kernel == nullptr) return kernel;
    return std::make_unique<TilesInARow>(std::move(kernel));
  };
  PX_ASSIGN(const KernelOutcome again, run_kernel_tiles(run, in_a_row));
  if (!std::ranges::equal(outcome.outputs[0].view().bytes, again.outputs[0].view().bytes))
    return tl::unexpected(
        Error{Stage::kRun, ErrorCode::kInternal, {}, "other bits with tiles in a row"});
  return outcome;
}

}  // namespace parallax
