#include "simulate/simulate.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace parallax {
namespace {

/// A branch that some core owns, at its node `node`.
struct Running {
  BranchId branch;
  std::size_t core = 0;
  std::size_t node = 0;
  std::int64_t left = 0;  ///< tiles not taken yet
  double end = 0;         ///< end of the last tile that was started
};

struct Core {
  std::size_t kind = 0;
  double demand = 0;  ///< bytes per second of its present tile
  int own = -1;       ///< index into running
  int helps = -1;     ///< the node it took tiles of last: index into running, and which node
  std::size_t helped_node = 0;
  bool idle = false;
};

struct Ready {
  double remaining;  ///< seconds to the end of the graph on one core: the largest first
  BranchId branch;
  friend bool operator<(const Ready& a, const Ready& b) {
    return a.remaining != b.remaining ? a.remaining < b.remaining : a.branch > b.branch;
  }
};

/// An event: a core has no work, or the delegate has finished a branch.
struct Event {
  double time;
  std::size_t core;
  BranchId delegated;  ///< invalid: it is about `core`
  friend bool operator>(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.core > b.core;
  }
};

class Replay {
 public:
  Replay(const Workload& workload, const SimulatedCpu& cpu)
      : workload_(workload), cpu_(cpu), waiting_(workload.branches.size()) {
    for (const std::size_t kind : cpu.kinds) cores_.push_back({.kind = kind});
    dependents_.resize(workload.branches.size());
    for (const BranchId branch : workload.branches.ids()) {
      waiting_[branch] = static_cast<int>(workload.waits[branch].size());
      for (const BranchId before : workload.waits[branch]) dependents_[before].push_back(branch);
    }
    result_.spans.resize(workload.branches.size());
  }

  /// Returns false if a cycle left branches over.
  bool run() {
    if (!find_remaining()) return false;
    for (const BranchId branch : workload_.branches.ids())
      if (waiting_[branch] == 0) make_ready(branch, 0);
    for (std::size_t core = 0; core < cores_.size(); ++core) events_.push({0, core, {}});
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.delegated.valid()) {
        finish(event.delegated, event.time);
      } else {
        step(event.core, event.time);
      }
    }
    return done_ == workload_.branches.size();
  }
  Simulation result() && { return std::move(result_); }

 private:
  /// Longest path of seconds from each branch to the end, on cores like the first, in reverse
  /// topological order.
  bool find_remaining() {
    remaining_ = IdVector<BranchId, double>(workload_.branches.size(), 0);
    IdVector<BranchId, int> readers(workload_.branches.size(), 0);
    std::vector<BranchId> order;
    for (const BranchId branch : workload_.branches.ids()) {
      readers[branch] = static_cast<int>(dependents_[branch].size());
      if (readers[branch] == 0) order.push_back(branch);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const BranchId branch = order[i];
      double& seconds = remaining_[branch];
      for (const BranchId after : dependents_[branch])
        seconds = std::max(seconds, remaining_[after]);
      seconds += workload_.delegate_seconds[branch];
      for (const SimulatedNode& node : workload_.branches[branch])
        seconds += node.seconds[cores_.front().kind];
      for (const BranchId before : workload_.waits[branch])
        if (--readers[before] == 0) order.push_back(before);
    }
    return order.size() == workload_.branches.size();
  }

  void make_ready(BranchId branch, double time) {
    result_.spans[branch].begin = time;
    if (workload_.delegate_seconds[branch] > 0) {
      double& free = delegate_free_[workload_.delegate.empty() ? 0 : workload_.delegate[branch]];
      result_.spans[branch].begin = std::max(free, time);
      free = result_.spans[branch].begin + workload_.delegate_seconds[branch];
      events_.push({free, 0, branch});
      return;
    }
    ready_.push({remaining_[branch], branch});
    wake(time);
  }

  void wake(double time) {
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (!cores_[core].idle) continue;
      cores_[core].idle = false;
      events_.push({time, core, {}});
    }
  }

  void finish(BranchId branch, double time) {
    result_.spans[branch].end = time;
    result_.seconds = std::max(result_.seconds, time);
    ++done_;
    for (const BranchId after : dependents_[branch])
      if (--waiting_[after] == 0) make_ready(after, time);
  }

  /// Gives the idle core `index` one thing to do at `time`.
  void step(std::size_t index, double time) {
    Core& core = cores_[index];
    core.demand = 0;
    if (core.own >= 0) return own_step(index, time);
    if (!ready_.empty()) {
      const BranchId branch = ready_.top().branch;
      ready_.pop();
      result_.spans[branch].begin = time;
      core.own = free_slot();
      running_[static_cast<std::size_t>(core.own)] = {branch, index, 0, 0, time};
      start_node(core.own, time);
      return;
    }
    // Tiles of the node that has most of them left.
    int best = -1;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const std::int64_t left = running_[i].branch.valid() ? running_[i].left : 0;
      if (left > 0 && (best < 0 || left > running_[static_cast<std::size_t>(best)].left))
        best = static_cast<int>(i);
    }
    if (best < 0) {
      core.idle = true;
      return;
    }
    const std::size_t node = running_[static_cast<std::size_t>(best)].node;
    const bool joined = core.helps == best && core.helped_node == node;
    core.helps = best;
    core.helped_node = node;
    take_tile(index, best, time, joined ? 0 : cpu_.share_seconds);
  }

  void own_step(std::size_t index, double time) {
    Running& at = running_[static_cast<std::size_t>(cores_[index].own)];
    if (at.left > 0) return take_tile(index, cores_[index].own, time, 0);
    if (at.end > time) {  // others still have tiles
      events_.push({at.end, index, {}});
      return;
    }
    if (++at.node < workload_.branches[at.branch].size())
      return start_node(cores_[index].own, time);
    const BranchId done = at.branch;
    at.branch = {};
    cores_[index].own = -1;
    events_.push({time, index, {}});
    finish(done, time);
  }

  void start_node(int slot, double time) {
    Running& at = running_[static_cast<std::size_t>(slot)];
    const auto& nodes = workload_.branches[at.branch];
    while (at.node < nodes.size() && nodes[at.node].tiles <= 0) ++at.node;
    at.end = time;
    at.left = 0;
    if (at.node < nodes.size()) {
      at.left = std::min(nodes[at.node].tiles, kMaxReplayedTiles);
      time += cpu_.node_seconds;
      result_.busy_seconds += cpu_.node_seconds;
      wake(time);
    }
    events_.push({time, at.core, {}});
  }

  void take_tile(std::size_t index, int slot, double time, double delay) {
    Running& at = running_[static_cast<std::size_t>(slot)];
    const SimulatedNode& node = workload_.branches[at.branch][at.node];
    const auto tiles = static_cast<double>(std::min(node.tiles, kMaxReplayedTiles));
    Core& core = cores_[index];
    double seconds = node.seconds[core.kind] / tiles;
    if (seconds > 0 && cpu_.bytes_per_second > 0) {
      core.demand = node.memory_bytes / tiles / seconds;
      double demand = 0;
      for (const Core& each : cores_) demand += each.demand;
      seconds *= std::max(1.0, demand / cpu_.bytes_per_second);
    }
    --at.left;
    const double end = time + delay + seconds;
    at.end = std::max(at.end, end);
    result_.busy_seconds += delay + seconds;
    events_.push({end, index, {}});
  }

  int free_slot() {
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (!running_[i].branch.valid()) return static_cast<int>(i);
    running_.emplace_back();
    return static_cast<int>(running_.size()) - 1;
  }

  const Workload& workload_;
  const SimulatedCpu& cpu_;
  IdVector<BranchId, int> waiting_;
  IdVector<BranchId, std::vector<BranchId>> dependents_;
  IdVector<BranchId, double> remaining_;
  std::vector<Core> cores_;
  std::vector<Running> running_;  // at most one per core
  std::priority_queue<Ready> ready_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::map<int, double> delegate_free_;
  std::size_t done_ = 0;
  Simulation result_;
};

}  // namespace

Result<Simulation> simulate(const Workload& workload, const SimulatedCpu& cpu) {
  const auto failure = [](const char* message) {
    return tl::unexpected(Error{Stage::kSchedule, ErrorCode::kInternal, {}, message});
  };
  if (workload.waits.size() != workload.branches.size() ||
      workload.delegate_seconds.size() != workload.branches.size() ||
      (!workload.delegate.empty() && workload.delegate.size() != workload.branches.size())) {
    return failure("the parts of a workload have different sizes");
  }
  if (cpu.kinds.empty()) return failure("a machine without cores");
  const std::size_t kinds = 1 + *std::ranges::max_element(cpu.kinds);
  for (const auto& nodes : workload.branches)
    for (const SimulatedNode& node : nodes)
      if (node.seconds.size() < kinds) return failure("a node without seconds for a core");
  Replay replay(workload, cpu);
  if (!replay.run()) return failure("the branches wait for each other");
  return std::move(replay).result();
}

}  // namespace parallax
