#include "cost/cpu_costs.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace parallax {
namespace {

/// Number of nearest samples that determine the cost of a node of their kind; with more, shapes
/// that have little in common are included.
constexpr std::size_t kNeighbours = 3;

std::string kind_of(std::string_view op, std::string_view kernel) {
  return fmt::format("{} {}", op, kernel);
}

std::string key_of(std::string_view op, std::string_view kernel, std::string_view shapes) {
  return fmt::format("{} {} {}", op, kernel, shapes);
}

/// Returns the properties that determine the speed of a kernel: the size of the work, and how much
/// of it there is per byte.
std::array<double, 2> features(double macs, double bytes) {
  return {std::log2(macs + 1), std::log2(bytes + 1)};
}

double distance(const std::array<double, 2>& a, const std::array<double, 2>& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1]);
}

}  // namespace

CpuCosts::CpuCosts(const std::vector<NodeSample>& samples) {
  for (const NodeSample& sample : samples) {
    exact_.insert_or_assign(key_of(sample.op, sample.kernel, sample.shapes), sample.seconds);
    if (sample.seconds > 0) by_kind_[kind_of(sample.op, sample.kernel)].push_back(&sample);
  }
}

double CpuCosts::from_neighbours(const std::vector<const NodeSample*>& samples,
                                 const NodeWork& node) const {
  // The rate, not the time, is what neighbours have in common.
  const bool by_macs = node.macs > 0;
  const auto work = [&](double macs, double bytes) { return by_macs ? macs : bytes; };
  const auto at = features(node.macs, node.bytes);
  std::array<std::pair<double, double>, kNeighbours> nearest;  // {distance, seconds per unit}
  nearest.fill({std::numeric_limits<double>::infinity(), 0});
  for (const NodeSample* sample : samples) {
    const double amount = work(sample->macs, sample->bytes);
    if (amount <= 0) continue;
    std::pair<double, double> entry{distance(at, features(sample->macs, sample->bytes)),
                                    sample->seconds / amount};
    for (auto& each : nearest)
      if (entry.first < each.first) std::swap(entry, each);
  }
  double weights = 0, sum = 0;
  for (const auto& [far, rate] : nearest) {
    if (!std::isfinite(far)) continue;
    const double weight = 1 / (far * far + 1e-3);
    weights += weight;
    sum += weight * rate;
  }
  return weights > 0 ? sum / weights * work(node.macs, node.bytes) : -1;
}

CpuCost CpuCosts::cost(const NodeWork& node, const CoreKind& core) const {
  const std::string_view op = to_string(node.op);
  const auto exact = exact_.find(key_of(op, node.kernel, node.shapes));
  if (exact != exact_.end()) return {exact->second / core.speed, CostBasis::kTimed};
  const auto kind = by_kind_.find(kind_of(op, node.kernel));
  if (kind != by_kind_.end()) {
    if (const double guess = from_neighbours(kind->second, node); guess >= 0)
      return {guess / core.speed, CostBasis::kSimilar};
  }
  return {kernel_seconds({node.op, node.kernel, node.macs, node.bytes}, core.rates),
          CostBasis::kRates};
}

}  // namespace parallax
