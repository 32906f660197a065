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

/// A row of operators.def. `types` is a set of bits (dtype_bit). Inputs that only define a shape
/// may have any type and rank.
struct OperatorRow {
  OpKind op;
  DTypeSet types;  ///< types of its tensors
  int max_rank;
  EmitFunction emit;              ///< emits its launches
  std::vector<KernelId> kernels;  ///< kernels that `emit` may launch
};
/// Returns the row of `op`; null if it has no kernel of its own. Elementwise operators have no row:
/// they become chains. The row has static lifetime.
const OperatorRow* operator_row(OpKind op);

/// Checks that the delegate runs `node`: its operator, types and ranks match a row. Errors:
/// kUnsupported, with a reason. Needs no sizes. The first input and the first output must be
/// present. Attributes are not checked: the profile's limits and the emitters do that.
Status check_node_covered(const Graph& graph, const Node& node);

/// Rates that the description states; they are not measured. Units are those of Delegate
/// (device/profile.h): seconds, MAC per second, bytes per second, bytes.
struct StatedRates {
  double launch_seconds, macs_per_second, bytes_per_second, cpu_macs_per_second;
  std::int64_t memory_bytes;
};
/// Returns the profile for px_description: all rows, in TOML. Lists every operator with its types
/// and its rank, and limits of attributes. parse_profile() accepts it.
std::string profile_text(const StatedRates& rates);

}  // namespace parallax::opencl
