// The kernel of an ElementwiseChain: its steps, one after the other, over blocks that stay in a
// first-level cache. A step is a kernel of its operator for a block, or a function that computes
// the same without a kernel's overhead. Its result goes to a slot of the scratch or straight to an
// output. Results thus have the same bits as those of the operators run one by one. Two libraries
// make it: kernels/cpu/elementwise/chain.cc with blocks of 2048 elements and functions for most
// steps, kernels/reference/chain.cc with blocks of 1024 and kernels alone.
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
/// which have one element. Memory is aligned to the elements' size at least and belongs to the
/// caller for the duration of the call.
struct ChainCall {
  /// One address for each operand of the step, at most kMaxChainOperands; null where one is left
  /// out.
  std::span<const std::byte* const> operands;
  /// Destination of the n results, in the dtype of the step: a slot of the scratch, or a piece of
  /// an output.
  std::byte* y = nullptr;
  std::size_t n = 0;
  /// Bit i belongs to operands[i].
  std::uint32_t single = 0;
};
/// Computes one step for a block. `y` may be the address of an operand that is not single. Called
/// from many threads concurrently. It writes exactly n elements, and cannot fail.
using ChainFunction = std::function<void(const ChainCall&)>;

/// How a library runs chains. Function pointers are copied into the kernel or called while it is
/// made.
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

/// Makes the kernel of an ElementwiseChain. The request's outputs have equal shapes, and output 0
/// is present; without elements the kernel has no tiles. Output 0 may share the memory of an input
/// (KernelRow::in_place): its step runs last, or is copied at the end of each block. Errors:
/// kInvalidModel for an invalid program, kInvalidInput for inputs that do not broadcast to the
/// outputs, those of the steps' kernels.
Result<std::unique_ptr<Kernel>> make_chain_kernel(const KernelRequest& request,
                                                  const ChainKernelOptions& options);

}  // namespace parallax
