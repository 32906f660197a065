// Costs of a region on the CPU and on a delegate, and the decision whether to offload it. Units:
// MAC, bytes, seconds; counts saturate at the largest int64. Thread-safety: pure functions; one
// thread uses a Pricer.
//
//     paper     N >= 3, F >= 1e9 and B/F <= 0.1, F by the paper's estimator (flops.h)
//     exact     L + F/R_acc + B/BW < F/R_cpu, F counted by ops/
//     measured  exact, with rates measured for single operators in place of R_acc and R_cpu
//
// N: nodes. F: work in MAC. B: bytes at the boundary. L: seconds to launch a region. R_acc, R_cpu:
// MAC per second of the delegate and of the CPU. BW: bytes per second between them.
//
// The three models differ in the verdict only: predicted times are those of `measured` for
// measured, of `exact` for the other two.
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

/// Return the name of a model as above, and the model of a name; nullopt if there is no such name.
std::string_view to_string(CostModel model);
std::optional<CostModel> cost_model_from_string(std::string_view name);

inline constexpr int kPaperMinNodes = 3;              // the paper: N >= 3
inline constexpr std::int64_t kPaperMinWork = 1e9;    // the paper: F >= 1e9
inline constexpr double kPaperMaxBytesPerWork = 0.1;  // the paper: B/F <= 0.1

/// The cost of one node.
struct NodeCost {
  std::int64_t macs = 0, paper_flops = 0;
  std::int64_t moved_bytes = 0;  ///< inputs, constants included, and outputs
  double cpu_seconds = 0, delegate_seconds = 0;
};

/// Seconds by node that replace the predictions from the operators alone.
struct NodeSeconds {
  IdVector<NodeId, double> cpu;                      ///< empty: replaces none
  IdVector<NodeId, std::optional<double>> delegate;  ///< empty, or nullopt: replaces none
};

/// The quantities N, F and B of a region, and its times in seconds.
struct RegionCost {
  int nodes = 0;                    ///< N
  std::int64_t macs = 0;            ///< F, exact
  std::int64_t paper_flops = 0;     ///< F as the paper estimates it
  std::int64_t boundary_bytes = 0;  ///< B: tensors that enter or leave, each once; no constants
  std::int64_t entering_bytes = 0;  ///< constants, and tensors that enter
  std::int64_t memory_bytes = 0;    ///< entering_bytes, and the maximum of results alive at the
                                    ///< same time, run in order
  double cpu_seconds = 0;
  double delegate_seconds = 0;  ///< including L and B/BW
  double by_rates = 0;          ///< delegate_seconds before the correction by timed runs
  std::uint64_t key = 0;        ///< region_key(), if runs were timed; 0: not known
  bool timed = false;           ///< delegate_seconds comes from runs of this region
  double saved_seconds() const { return cpu_seconds - delegate_seconds; }
};

/// The decision of Pricer::judge().
struct Verdict {
  CpuReason reason = CpuReason::kNone;  ///< kNone: offload; otherwise kMemory or kLoses
  std::string detail;                   ///< the comparison that decided, in words and numbers
};

/// Prices nodes and regions of one graph at one binding. `body`: as PartitionOptions::body. Keeps
/// references to `graph`, `shapes`, `delegate` and `calibration`, which must outlive it; builds
/// O(V+E) tables once.
class Pricer {
 public:
  Pricer(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
         CostModel model, const Calibration& calibration, NodeSeconds known = {},
         std::string_view body = {});

  /// Returns the cost of a node whose sizes are all known; for other nodes zeros, except for a time
  /// in NodeSeconds::cpu.
  NodeCost node_cost(NodeId node) const;
  /// Returns the cost of a set of distinct nodes that the delegate can run. O(size of the set and
  /// its edges).
  RegionCost region_cost(std::span<const NodeId> nodes);
  /// Decides whether the delegate should run the region: it must fit the delegate's memory and win
  /// by the cost model.
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
  IdVector<NodeId, std::uint64_t> keys_;      // set if regions were timed
  double factor_ = 1;                         // how much longer these took than predicted
  IdVector<NodeId, std::int64_t> in_region_;  // stamps
  IdVector<ValueId, std::int64_t> counted_;
  std::int64_t stamp_ = 0;
};

}  // namespace parallax
