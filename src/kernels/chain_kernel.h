// The kernel of an ElementwiseChain: its steps, one after the other, over blocks that stay in a
// first-level cache. A step is a kernel of its operator for a block, or a function that does the
// same without a kernel's ways; its result is a slot of the scratch, or lies where an output does.
// Results thus have the bits that the operators one by one give.
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
/// y may be an operand that is not single.
using ChainFunction = std::function<void(const ChainCall&)>;

struct ChainKernelOptions {
  bool reference_only = false;  ///< steps use kernels of the reference library alone
  std::int64_t block = 0;       ///< elements, about
  /// Tiles of so many blocks of so much work each.
  std::int64_t (*tiles)(std::int64_t blocks, std::int64_t work) = nullptr;
  /// The function of a step, as a request of a block; nothing: its kernel is taken. Null: no step
  /// has one.
  std::optional<ChainFunction> (*function)(const KernelRequest& step) = nullptr;
  /// The same of steps in registers, which come first: what one of them is, without places.
  std::optional<RegisterStep> (*in_registers)(const KernelRequest& step) = nullptr;
  RunRegisters run_registers = nullptr;
};

/// Errors: those of the steps' kernels.
Result<std::unique_ptr<Kernel>> make_chain_kernel(const KernelRequest& request,
                                                  const ChainKernelOptions& options);

}  // namespace parallax
