// Where a graph is cut so that the CPU and a device can run it at once: stretches of nodes, of each
// of which the CPU makes the first rows and the device the others.
//
//     rows        [ conv conv add ... ][ conv ... ][ MatMul ][ ...
//       CPU        first half of each   first half   whole     first half
//       device     second half          second half  -         second half
//
// In a stretch neither needs anything of the other, so that rows at the cut may be made twice.
// Between two stretches they wait for each other. Longer stretches wait less and make more twice;
// the best of all choices by predicted seconds is found in one pass. Pure functions. Internal to
// partition/.
#pragma once

#include <array>
#include <vector>

#include "partition/split/row_rules.h"

namespace parallax {

/// What running nodes costs, in seconds and bytes a second.
struct CoCosts {
  IdVector<NodeId, double> cpu, device;  ///< seconds of the whole node
  IdVector<NodeId, bool> can_run;        ///< the device has the operator
  double region_seconds = 0;             ///< from the end of one side until the other goes on
  double copied_bytes_per_second = 0;    ///< > 0
  /// Of weights, which both parts read where they share them; > 0. Part of the seconds above.
  double read_bytes_per_second = 0;
};

/// 0: the CPU's part, the first rows; 1: the device's.
inline constexpr std::size_t kParts = 2;
using PartRows = std::array<Rows, kParts>;

/// Along which axis each value is cut. Values and nodes that cannot be have none.
struct RowAxes {
  IdVector<ValueId, int> axis;  ///< -1: none
  IdVector<NodeId, std::optional<RowRule>> rule;
};
/// How products with weights are cut.
enum class RowChoice : std::uint8_t {
  kRows,     ///< as their inputs are: both parts read all weights
  kFilters,  ///< each part has its own columns of the weights, and reads all of the input
};
/// Each value is cut as those that it is made of, where it can be. O(V+E).
RowAxes row_axes(const Graph& graph, const ConcreteShapes& shapes,
                 RowChoice choice = RowChoice::kRows);

struct CoStretch {
  std::size_t begin = 0, end = 0;  ///< into CoPlan::order
  bool split = false;              ///< false: one node, which one side runs whole
};
struct CoPlan {
  std::vector<NodeId> order;  ///< topological
  std::vector<CoStretch> stretches;
  /// Rows that each part makes of the results of each node in a split stretch; none: nobody reads
  /// what it would make.
  IdVector<NodeId, PartRows> made;
  double device_share = 0;  ///< of rows
  double seconds = 0;       ///< predicted
};
/// The best stretches where the device gets `device_share` of the rows, 0 < share < 1. O(V L), L
/// the length of the longest stretch, which is limited.
CoPlan plan_stretches(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                      const CoCosts& costs, double device_share);

/// Rows of a node's results.
std::int64_t rows_of(const ConcreteShapes& shapes, const Node& node, const RowRule& rule);

}  // namespace parallax
