// What a region costs on the CPU and on a delegate, and whether it should be offloaded. Units: MAC,
// bytes, seconds; counts saturate at the largest int64. Pure functions.
//
//     paper     N >= 3, F >= 1e9 and B/F <= 0.1, F by the paper's estimator (flops.h)
//     exact     L + F/R_acc + B/BW < F/R_cpu, F counted by ops/
//     measured  exact, with rates measured for single operators in place of R_acc and R_cpu
//
// The three differ in the verdict only: predicted times are `measured` for measured, `exact` for
// both others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/calibration.h"
#include "device/support.h"
#include "parallax/options.h"

namespace parallax {

std::string_view to_string(CostModel model);
std::optional<CostModel> cost_model_from_string(std::string_view name);

inline constexpr int kPaperMinNodes = 3;              // the paper: N >= 3
inline constexpr std::int64_t kPaperMinWork = 1e9;    // the paper: F >= 1e9
inline constexpr double kPaperMaxBytesPerWork = 0.1;  // the paper: B/F <= 0.1

struct NodeCost {
  std::int64_t macs = 0, paper_flops = 0;
  std::int64_t moved_bytes = 0;  ///< of inputs, constants included, and outputs
  double cpu_seconds = 0, delegate_seconds = 0;
};

/// Seconds of nodes that their operators alone do not tell.
struct NodeSeconds {
  IdVector<NodeId, double> cpu;                      ///< empty: of no node
  IdVector<NodeId, std::optional<double>> delegate;  ///< the same
};

/// N, F and B of a region, and more.
struct RegionCost {
  int nodes = 0;                    ///< N
  std::int64_t macs = 0;            ///< F, exact
  std::int64_t paper_flops = 0;     ///< F as the paper estimates it
  std::int64_t boundary_bytes = 0;  ///< B: tensors that enter or leave, each once; no constants
  std::int64_t entering_bytes = 0;  ///< constants, and tensors that enter
  std::int64_t memory_bytes = 0;    ///< those, and the most results alive at once, run in order
  double cpu_seconds = 0;
  double delegate_seconds = 0;  ///< L and B/BW included
  double by_rates = 0;          ///< the same where no run of a region was timed
  std::uint64_t key = 0;        ///< region_key(), where runs were timed; 0: not known
  bool timed = false;           ///< runs of this region say what the delegate takes
  double saved_seconds() const { return cpu_seconds - delegate_seconds; }
};

struct Verdict {
  CpuReason reason = CpuReason::kNone;  ///< kNone: offload; otherwise kMemory or kLoses
  std::string detail;                   ///< the comparison that decided, in words and numbers
};

/// Prices nodes and regions of one graph at one binding. `body`: as PartitionOptions::body. Holds
/// references to all else that it is given; makes O(V+E) tables once. Thread-compatible.
class Pricer {
 public:
  Pricer(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
         CostModel model, const Calibration& calibration, NodeSeconds known = {},
         std::string_view body = {});

  /// Of a node whose sizes are all known; zeros for others.
  NodeCost node_cost(NodeId node) const;
  /// Of a set of distinct nodes that the delegate can run. O(size of the set and its edges).
  RegionCost region_cost(std::span<const NodeId> nodes);
  Verdict judge(const RegionCost& cost) const;

 private:
  void price(const Node& node, NodeCost& cost) const;
  bool leaves(ValueId value) const;
  void add_boundary(NodeId node, RegionCost& cost);
  void correct(std::span<const NodeId> nodes, RegionCost& cost) const;
  bool ends_at(ValueId value, NodeId node) const;
  std::int64_t peak(std::span<const NodeId> nodes) const;

  const Graph& graph_;
  const ConcreteShapes& shapes_;
  const Delegate& delegate_;
  CostModel model_;
  const Calibration& calibration_;
  const NodeSeconds known_;
  IdVector<ValueId, std::vector<NodeId>> consumers_;
  IdVector<ValueId, bool> is_output_;
  IdVector<NodeId, NodeCost> costs_;
  IdVector<NodeId, std::uint64_t> keys_;      // where regions were timed
  double factor_ = 1;                         // how much longer these took
  IdVector<NodeId, std::int64_t> in_region_;  // stamps
  IdVector<ValueId, std::int64_t> counted_;
  std::int64_t stamp_ = 0;
};

}  // namespace parallax
