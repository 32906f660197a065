// Selects the stretches of a graph that the CPU and a device run concurrently: in each, the CPU
// computes the first rows of every node and the device the others.
//
//     rows        [ conv conv add ... ][ conv ... ][ MatMul ][ ...
//       CPU        first half of each   first half   whole     first half
//       device     second half          second half  -         second half
//
// Within a stretch neither side needs results of the other, so rows at the cut may be computed
// twice. Between two stretches they wait for each other. Longer stretches wait less and compute
// more rows twice; the best choice by predicted seconds is found in one pass. Thread-safety: pure
// functions. Internal to partition/.
#pragma once

#include <array>
#include <vector>

#include "partition/split/split_rules.h"

namespace parallax {

/// The costs of running nodes, in seconds and bytes per second.
struct CoCosts {
  IdVector<NodeId, double> cpu, device;  ///< seconds of the whole node
  IdVector<NodeId, bool> can_run;        ///< the device has the operator
  double region_seconds = 0;             ///< from the end of one side until the other one continues
  double copied_bytes_per_second = 0;    ///< > 0
  /// Bandwidth of weights, which both parts read if they share them; > 0. Included in the seconds
  /// above.
  double read_bytes_per_second = 0;
};

/// 0: the CPU's part, the first rows; 1: the device's.
inline constexpr std::size_t kParts = 2;
using PartRows = std::array<Rows, kParts>;

/// The axis along which each value is cut. Values and nodes that cannot be cut have none.
struct RowAxes {
  IdVector<ValueId, int> axis;  ///< -1: not cut
  IdVector<NodeId, std::optional<SplitRule>> rule;
};
/// The way in which products with weights are cut.
enum class RowChoice : std::uint8_t {
  kRows,     ///< like their inputs: both parts read all weights
  kFilters,  ///< each part has its own columns of the weights, and reads all of the input
};
/// Cuts each value like those from which it is computed, if possible. O(V+E).
RowAxes row_axes(const Graph& graph, const ConcreteShapes& shapes,
                 RowChoice choice = RowChoice::kRows);

struct SplitSegment {
  std::size_t begin = 0, end = 0;  ///< indices into CoPlan::order
  bool split = false;              ///< false: one node, which one side runs completely
};
struct CoPlan {
  std::vector<NodeId> order;  ///< topological
  std::vector<SplitSegment> stretches;
  /// Rows of each node's results that each part computes in a split stretch; empty if they have no
  /// reader.
  IdVector<NodeId, PartRows> made;
  double device_share = 0;  ///< share of rows
  double seconds = 0;       ///< predicted
};
/// Returns the best stretches if the device gets `device_share` of the rows, 0 < share < 1. O(V L),
/// L being the length of the longest stretch, which is limited.
CoPlan plan_stretches(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                      const CoCosts& costs, double device_share);

/// Returns the number of rows of a node's results.
std::int64_t rows_of(const ConcreteShapes& shapes, const Node& node, const SplitRule& rule);

}  // namespace parallax
