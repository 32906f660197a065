// What a node costs on one core, from samples that were timed on a machine: the sample itself where
// the same node was timed, otherwise what the nearest ones of its kind suggest, otherwise its
// kernel's rates on such a machine. Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cpu_rates.h"
#include "cost/kernel_seconds.h"

namespace parallax {

struct NodeWork {
  OpKind op = OpKind::kIdentity;
  std::string_view kernel, shapes;  ///< as in a trace
  double macs = 0;
  double bytes = 0;  ///< read and written
};

/// What a cost rests on.
enum class CostBasis : std::uint8_t {
  kTimed,    ///< the same node was timed
  kSimilar,  ///< others of its kind were
  kRates,    ///< its kernel's rates on such a machine
};
/// A core on which a node may run.
struct CoreKind {
  double speed = 1;  ///< beside the core on which samples were timed
  Core rates;
};
struct CpuCost {
  /// Of all tiles of the node one after the other.
  double seconds = 0;
  CostBasis basis = CostBasis::kRates;
};

class CpuCosts {
 public:
  /// `samples` must outlive the costs.
  explicit CpuCosts(const std::vector<NodeSample>& samples);

  CpuCost cost(const NodeWork& node, const CoreKind& core) const;

 private:
  double from_neighbours(const std::vector<const NodeSample*>& samples, const NodeWork& node) const;

  std::map<std::string, double, std::less<>> exact_;                            // key() -> seconds
  std::map<std::string, std::vector<const NodeSample*>, std::less<>> by_kind_;  // "op kernel"
};

}  // namespace parallax
