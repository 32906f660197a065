// Chains of elementwise operators; each chain becomes one generated kernel. The source depends on
// operators, types and attributes but not on sizes, so new shapes need no compilation.
// Thread-safety: pure functions.
//
// The formulas are in elementwise.def. A chain computes in registers: floats as 32-bit numbers,
// also if tensors store 16 bits; bools as ints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delegates/opencl/emit/emit.h"
#include "ir/graph.h"

namespace parallax::opencl {

/// Types of tensors that kernels accept.
inline constexpr DTypeSet kFloats = dtype_bit(DType::kF32);
inline constexpr DTypeSet kBools = dtype_bit(DType::kBool);
inline constexpr DTypeSet kNumbers = kFloats | dtype_bit(DType::kI32) | dtype_bit(DType::kI64);
inline constexpr DTypeSet kAnything = kNumbers | kBools;

/// Returns the types that inputs of an elementwise operator may have; 0 if `op` is not elementwise.
DTypeSet elementwise_types(OpKind op);
/// Returns whether the results of `op` are bools for all types of inputs.
bool gives_bools(OpKind op);

/// A chain: nodes of a graph in order; the last one computes its result. All results inside have
/// the shape of the last one, and only the chain reads them.
struct Chain {
  std::vector<NodeId> nodes;
  /// Inputs from outside, each once. At most kMaxOperands; their shapes broadcast to that of the
  /// result.
  std::vector<ValueId> operands;
  ValueId result;
};
/// Limits of a chain: tensors that it reads, and nodes. Devices accept at least 1,024 bytes of
/// arguments, which also limits operands. Max and Min of more inputs are split first
/// (wide_extremes.h).
inline constexpr std::size_t kMaxOperands = 10;
inline constexpr std::size_t kMaxChained = 24;

/// Generates the kernel of a chain: arguments are the space, each operand with its strides, the
/// result. The name depends only on the source. Errors: kUnsupported. The name is a hash of the
/// text. The source needs elementwise_prelude() in front. kUnsupported for more than 18 operands,
/// or an operator without a formula.
Result<KernelSpec> chain_kernel(const Graph& graph, const Chain& chain);

/// Returns the launch for operands and a result with concrete sizes. `kernel` must outlive the
/// launch. An empty result has 0 groups: the launch must not be enqueued then. REQUIRES: shapes
/// that broadcast, at most kMaxElements each.
Launch chain_launch(const KernelSpec& kernel, std::span<const Operand> operands,
                    const Operand& result);

}  // namespace parallax::opencl
