#include "partition/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

namespace parallax {
namespace {

/// A change that saves less of the predicted time is left out: predictions are not that exact.
constexpr double kWorthwhile = 0.002;
/// Replays at most, for the choice of regions and for the texts about it: a contrived graph has
/// very many regions. Those with the longest times are tried first.
constexpr int kMaxTrials = 64;
constexpr int kRounds = 3;

/// The queue of one worker, the CPU or a device.
class Worker {
 public:
  void add(double path, int unit) { ready_.emplace(path, -unit); }
  bool idle() const { return running_ < 0; }
  bool has_work() const { return !ready_.empty(); }
  void start(double now, const std::vector<double>& seconds) {
    running_ = -ready_.top().second;
    ready_.pop();
    end_ = now + seconds[static_cast<std::size_t>(running_)];
  }
  double end() const { return end_; }
  int take() { return std::exchange(running_, -1); }

 private:
  std::priority_queue<std::pair<double, int>> ready_;  // the first unit wins among equal paths
  int running_ = -1;
  double end_ = 0;
};

}  // namespace

Overlap::Overlap(const Dag& edges, const IdVector<NodeId, double>& cpu_seconds,
                 std::span<const Region> regions)
    : edges_(edges),
      cpu_seconds_(cpu_seconds),
      regions_(regions),
      region_of_(cpu_seconds.size(), -1),
      path_(cpu_seconds.size(), 0) {
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const NodeId node : regions[r].nodes) region_of_[node] = static_cast<int>(r);
    devices_ = std::max(devices_, static_cast<std::size_t>(regions[r].delegate) + 1);
  }
  for (auto i = static_cast<std::int32_t>(cpu_seconds.size()); i-- > 0;) {
    const NodeId node{i};
    for (const NodeId next : edges.successors[node])
      path_[node] = std::max(path_[node], path_[next]);
    path_[node] += cpu_seconds[node];
  }
}

double Overlap::seconds(const std::vector<bool>& offloaded) const {
  // Units are the nodes, then the regions; a node of an offloaded region is not a unit.
  const std::size_t nodes = cpu_seconds_.size();
  const auto unit_of = [&](NodeId node) {
    const int region = region_of_[node];
    return region >= 0 && offloaded[static_cast<std::size_t>(region)]
               ? nodes + static_cast<std::size_t>(region)
               : static_cast<std::size_t>(node.value);
  };
  std::vector<double> seconds(nodes + regions_.size(), 0), path(seconds);
  std::vector<int> waits(seconds.size(), 0);
  for (const NodeId node : cpu_seconds_.ids()) {
    const std::size_t unit = unit_of(node);
    path[unit] = std::max(path[unit], path_[node]);
    seconds[unit] =
        unit < nodes ? cpu_seconds_[node] : regions_[unit - nodes].cost.delegate_seconds;
    for (const NodeId next : edges_.successors[node])
      if (unit_of(next) != unit) ++waits[unit_of(next)];
  }
  std::vector<Worker> workers(1 + devices_);  // the CPU is the first
  const auto add = [&](std::size_t unit) {
    const std::size_t device =
        unit < nodes ? 0 : 1 + static_cast<std::size_t>(regions_[unit - nodes].delegate);
    workers[device].add(path[unit], static_cast<int>(unit));
  };
  for (const NodeId node : cpu_seconds_.ids()) {
    const std::size_t unit = unit_of(node);
    // A region is added by its first node.
    if (waits[unit] == 0 && (unit < nodes || regions_[unit - nodes].nodes.front() == node))
      add(unit);
  }
  double now = 0;
  while (true) {
    Worker* first = nullptr;  // the first one to finish
    for (Worker& worker : workers) {
      if (worker.idle() && worker.has_work()) worker.start(now, seconds);
      if (!worker.idle() && (first == nullptr || worker.end() < first->end())) first = &worker;
    }
    if (first == nullptr) return now;
    now = first->end();
    const auto done = static_cast<std::size_t>(first->take());
    const auto leave = [&](NodeId node) {
      for (const NodeId next : edges_.successors[node]) {
        const std::size_t unit = unit_of(next);
        if (unit != done && --waits[unit] == 0) add(unit);
      }
    };
    if (done < nodes) {
      leave(NodeId{static_cast<std::int32_t>(done)});
    } else {
      for (const NodeId node : regions_[done - nodes].nodes) leave(node);
    }
  }
}

namespace {

bool may_change(const Region& region) {
  if (region.shared) return false;
  return region.verdict.reason == CpuReason::kNone || region.verdict.reason == CpuReason::kLoses;
}

/// Returns the regions that may be offloaded or not, those whose choice matters most first.
std::vector<std::size_t> order_of_trials(std::span<const Region> regions, std::size_t taken) {
  std::vector<std::size_t> order;
  for (std::size_t r = taken; r < regions.size(); ++r)
    if (may_change(regions[r])) order.push_back(r);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return regions[a].cost.cpu_seconds > regions[b].cost.cpu_seconds;
  });
  return order;
}

/// Returns how many regions after the first `taken` are offloaded.
std::ptrdiff_t count_free(const std::vector<bool>& offloaded, std::size_t taken) {
  return std::count(offloaded.begin() + static_cast<std::ptrdiff_t>(taken), offloaded.end(), true);
}

/// Returns the best of three initial choices, each with the taken regions: those that win
/// individually, all that may be offloaded, and none.
std::vector<bool> start(const Overlap& overlap, std::span<const Region> regions,
                        std::optional<int> max_regions, std::size_t taken, double& best) {
  std::vector<bool> winners, all, none;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const bool stays = r < taken || regions[r].shared;
    winners.push_back(r < taken || regions[r].verdict.reason == CpuReason::kNone);
    all.push_back(stays || may_change(regions[r]));
    none.push_back(stays);
  }
  std::vector<bool> result = winners;
  best = overlap.seconds(result);
  for (const std::vector<bool>& other : {all, none}) {
    if (max_regions && count_free(other, taken) > *max_regions) continue;
    const double seconds = overlap.seconds(other);
    if (seconds >= best * (1 - kWorthwhile)) continue;
    best = seconds;
    result = other;
  }
  return result;
}

/// Adds the total time with the other choice for region `r` to its verdict, by a replay.
void explain(const Overlap& overlap, Region& region, std::size_t r, std::vector<bool> offloaded,
             double best) {
  const bool offload = offloaded[r];
  offloaded[r] = !offload;
  const double other = overlap.seconds(offloaded);
  region.verdict.reason = offload ? CpuReason::kNone : CpuReason::kLoses;
  region.verdict.detail = fmt::format("the whole takes {:.4g} ms offloaded {} {:.4g} ms on the CPU",
                                      (offload ? best : other) * 1e3,
                                      offload ? "<" : ">=", (offload ? other : best) * 1e3);
}

}  // namespace

double choose_by_overlap(const Overlap& overlap, std::vector<Region>& regions,
                         std::optional<int> max_regions, std::size_t taken) {
  double best = 0;
  std::vector<bool> offloaded = start(overlap, regions, max_regions, taken, best);
  auto count = count_free(offloaded, taken);
  const auto order = order_of_trials(regions, taken);
  int trials = 0;
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const std::size_t r : order) {
      if (!offloaded[r] && max_regions && count >= *max_regions) continue;
      if (++trials > kMaxTrials) break;
      offloaded[r] = !offloaded[r];
      const double now = overlap.seconds(offloaded);
      if (now < best * (1 - kWorthwhile)) {
        best = now;
        changed = true;
        count += offloaded[r] ? 1 : -1;
      } else {
        offloaded[r] = !offloaded[r];
      }
    }
  }
  int told = 0;
  for (std::size_t r = taken; r < regions.size(); ++r) {
    if (offloaded[r] == (regions[r].verdict.reason == CpuReason::kNone) || !may_change(regions[r]))
      continue;
    if (++told <= kMaxTrials) {
      explain(overlap, regions[r], r, offloaded, best);
    } else {
      regions[r].verdict = {offloaded[r] ? CpuReason::kNone : CpuReason::kLoses,
                            fmt::format("the whole takes {:.4g} ms so", best * 1e3)};
    }
  }
  return best;
}

}  // namespace parallax
