// Which operators the delegate has: the rows of operators.def and elementwise.def. Constants and
// pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delegates/opencl/elementwise.h"
#include "delegates/opencl/emit.h"

namespace parallax::opencl {

/// A row of operators.def.
struct OperatorRow {
  OpKind op;
  DTypeSet types;
  int max_rank;
  EmitFunction emit;
  std::vector<KernelId> kernels;
};
/// Null where the operator has no kernel of its own.
const OperatorRow* operator_row(OpKind op);

/// A node that the delegate runs: its operator, its types and its ranks are those of a row. Errors:
/// kUnsupported, with a reason.
Status check_node_covered(const Graph& graph, const Node& node);

/// Rates that the description states; nothing has been measured.
struct StatedRates {
  double launch_seconds, macs_per_second, bytes_per_second, cpu_macs_per_second;
  std::int64_t memory_bytes;
};
/// The profile that px_description has: all rows, in TOML.
std::string profile_text(const StatedRates& rates);

}  // namespace parallax::opencl
