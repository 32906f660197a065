// The operators of the delegate: rows of operators.def and elementwise.def. Thread-safety:
// constants and pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delegates/opencl/elementwise.h"
#include "delegates/opencl/emit/emit.h"

namespace parallax::opencl {

/// A row of operators.def.
struct OperatorRow {
  OpKind op;
  DTypeSet types;  ///< types of its tensors
  int max_rank;
  EmitFunction emit;              ///< emits its launches
  std::vector<KernelId> kernels;  ///< kernels that `emit` may launch
};
/// Returns the row of `op`; null if it has no kernel of its own.
const OperatorRow* operator_row(OpKind op);

/// Checks that the delegate runs `node`: its operator, types and ranks match a row. Errors:
/// kUnsupported, with a reason.
Status check_node_covered(const Graph& graph, const Node& node);

/// Rates that the description states; they are not measured.
struct StatedRates {
  double launch_seconds, macs_per_second, bytes_per_second, cpu_macs_per_second;
  std::int64_t memory_bytes;
};
/// Returns the profile for px_description: all rows, in TOML.
std::string profile_text(const StatedRates& rates);

}  // namespace parallax::opencl
