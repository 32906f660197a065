// Chains of elementwise operators, each chain one generated kernel. The source depends on
// operators, types and attributes, not on sizes, so that a new shape compiles nothing. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delegates/opencl/emit.h"
#include "ir/graph.h"

namespace parallax::opencl {

/// Types of tensors that kernels take.
inline constexpr DTypeSet kFloats = dtype_bit(DType::kF32);
inline constexpr DTypeSet kBools = dtype_bit(DType::kBool);
inline constexpr DTypeSet kNumbers = kFloats | dtype_bit(DType::kI32) | dtype_bit(DType::kI64);
inline constexpr DTypeSet kAnything = kNumbers | kBools;

/// Types that the inputs of an elementwise operator may have; 0: it is none.
DTypeSet elementwise_types(OpKind op);
/// Whether `op` gives bools whatever it reads.
bool gives_bools(OpKind op);

/// A chain: nodes of a graph in order, the last of which gives its result.
struct Chain {
  std::vector<NodeId> nodes;
  std::vector<ValueId> operands;  ///< read from outside, each once
  ValueId result;
};
inline constexpr std::size_t kMostOperands = 10;
inline constexpr std::size_t kMostChained = 24;

/// The kernel of the chain: arguments are the space, each operand with its strides, the result.
/// Its name follows from its source. Errors: kUnsupported.
Result<KernelSpec> chain_kernel(const Graph& graph, const Chain& chain);

/// The launch for operands and a result with concrete sizes.
Launch chain_launch(const KernelSpec& kernel, std::span<const Operand> operands,
                    const Operand& result);

}  // namespace parallax::opencl
