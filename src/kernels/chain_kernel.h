// The kernel of an ElementwiseChain: its steps, one after the other, over blocks that stay in a
// first-level cache. A step is a kernel of its operator for a block, or a function that computes
// the same without a kernel's overhead. Its result goes to a slot of the scratch or straight to an
// output. Results thus have the same bits as those of the operators run one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "kernels/chain_registers.h"
#include "kernels/kernel.h"

namespace parallax {

/// Operands and result of a step: n elements each, except operands whose bit in `single` is set,
/// which have one element.
struct ChainCall {
  std::span<const std::byte* const> operands;
  std::byte* y = nullptr;
  std::size_t n = 0;
  std::uint32_t single = 0;
};
/// Computes one step for a block. `y` may be the address of an operand that is not single. Called
/// from many threads concurrently.
using ChainFunction = std::function<void(const ChainCall&)>;

struct ChainKernelOptions {
  bool reference_only = false;  ///< steps use kernels of the reference library alone
  std::int64_t block = 0;       ///< elements of a block, about; at least 1
  /// Returns the number of tiles for `blocks` blocks of `work` (elements times steps) each.
  /// REQUIRES: not null.
  std::int64_t (*tiles)(std::int64_t blocks, std::int64_t work) = nullptr;
  /// Returns the function of a step, described as a request for one block; nullopt: its kernel runs
  /// the step. Null: all steps run as kernels.
  std::optional<ChainFunction> (*function)(const KernelRequest& step) = nullptr;
  /// Returns the step in registers, its `operand` and `store` unset; nullopt if it cannot run so.
  /// Asked before `function`. Null: no step runs in registers.
  std::optional<RegisterStep> (*in_registers)(const KernelRequest& step) = nullptr;
  RunRegisters run_registers = nullptr;  ///< not null if in_registers is not
};

/// Makes the kernel of an ElementwiseChain. Errors: kInvalidModel for an invalid program,
/// kInvalidInput for inputs that do not broadcast to the outputs, those of the steps' kernels.
Result<std::unique_ptr<Kernel>> make_chain_kernel(const KernelRequest& request,
                                                  const ChainKernelOptions& options);

}  // namespace parallax
