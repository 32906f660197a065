// Costs of nodes on one core, from samples that were timed on a machine: the sample itself if the
// same node was timed, otherwise an estimate from the nearest samples of its kind, otherwise the
// rates of its kernel on such a machine. Thread-safety: immutable, all functions may be called
// concurrently.
//
// Used to replay tables for devices that are absent (simulate/). Plans on this machine use
// kernel_seconds() alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cpu_rates.h"
#include "cost/kernel_seconds.h"

namespace parallax {

/// The properties of a node that decide its cost. The texts must live during the call only.
struct NodeWork {
  OpKind op = OpKind::kIdentity;
  std::string_view kernel, shapes;  ///< as in a trace
  double macs = 0;
  double bytes = 0;  ///< read and written
};

/// The basis of a cost.
enum class CostBasis : std::uint8_t {
  kTimed,    ///< a sample of the same node
  kSimilar,  ///< samples of its kind
  kRates,    ///< rates of its kernel on such a machine
};
/// A core on which a node may run. `rates` serve if no sample helps; both describe the same core.
/// REQUIRES: speed > 0, because times are divided by it.
struct CoreKind {
  double speed = 1;  ///< relative to the core on which samples were timed
  Core rates;
};
/// The lower the basis, the better the number.
struct CpuCost {
  /// Time of all tiles of the node in sequence.
  double seconds = 0;
  CostBasis basis = CostBasis::kRates;
};

class CpuCosts {
 public:
  /// `samples` must outlive this object. If a node was timed several times, the last sample counts.
  /// It must not change meanwhile either. A sample of 0 seconds counts for the same node only, not
  /// for similar ones.
  explicit CpuCosts(const std::vector<NodeSample>& samples);

  /// Returns the cost of `node` on `core`, without its start. Similar are the three nearest samples
  /// of the same operator and kernel, by the logarithms of MACs and bytes; their rates are
  /// averaged, the nearer the heavier. Time is linear in the samples of the kind. The rate is time
  /// per MAC for nodes that have MACs, time per byte for others; a sample at distance d has the
  /// weight 1 / (d^2 + 0.001).
  CpuCost cost(const NodeWork& node, const CoreKind& core) const;

 private:
  double from_neighbours(const std::vector<const NodeSample*>& samples, const NodeWork& node) const;

  std::map<std::string, double, std::less<>> exact_;                            // key() -> seconds
  std::map<std::string, std::vector<const NodeSample*>, std::less<>> by_kind_;  // "op kernel"
};

}  // namespace parallax
