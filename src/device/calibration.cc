#include "device/calibration.h"

#include <algorithm>
#include <cmath>

namespace parallax {

bool Calibration::has_samples_of(WorkKind kind) const {
  return std::ranges::any_of(samples, [&](const WorkSample& s) { return s.kind == kind; });
}

WorkRates::WorkRates(const Calibration& calibration) : cpu_(kWorkKinds), delegate_(kWorkKinds) {
  std::vector<WorkSample> samples = calibration.samples;
  std::ranges::sort(samples, {}, &WorkSample::predicted);
  double cpu = 0, delegate = 0;  // sums of logarithms
  for (const WorkSample& sample : samples) {
    const auto kind = static_cast<std::size_t>(sample.kind);
    cpu_[kind].push_back({sample.predicted, sample.cpu});
    delegate_[kind].push_back({sample.predicted, sample.delegate});
    cpu += std::log(sample.cpu / sample.predicted);
    delegate += std::log(sample.delegate / sample.predicted);
  }
  if (samples.empty()) return;
  cpu_scale_ = std::exp(cpu / static_cast<double>(samples.size()));
  delegate_scale_ = std::exp(delegate / static_cast<double>(samples.size()));
}

double WorkRates::cpu(WorkKind kind, double predicted) const {
  return at(cpu_[static_cast<std::size_t>(kind)], predicted, cpu_scale_);
}
double WorkRates::delegate(WorkKind kind, double predicted) const {
  return at(delegate_[static_cast<std::size_t>(kind)], predicted, delegate_scale_);
}

/// Interpolates linearly between the points. Beyond the last one the rate is constant; before the
/// first one the line continues, which keeps the overhead that does not depend on the size.
double WorkRates::at(const Points& points, double predicted, double otherwise) {
  if (predicted <= 0) return 0;
  if (points.empty()) return predicted * otherwise;
  const auto rate = [&](const Point& p) { return predicted / p.predicted * p.measured; };
  if (points.size() == 1 || predicted >= points.back().predicted) return rate(points.back());
  std::size_t i = 1;
  while (i + 1 < points.size() && points[i].predicted < predicted) ++i;
  const Point &a = points[i - 1], &b = points[i];
  const double width = b.predicted - a.predicted;
  if (width <= 0) return rate(a);
  const double line = a.measured + (predicted - a.predicted) / width * (b.measured - a.measured);
  if (predicted >= a.predicted) return line;
  return std::clamp(line, std::min(rate(a), a.measured), std::max(rate(a), a.measured));
}

double region_factor(const Calibration& calibration) {
  constexpr double kMax = 4;
  std::vector<double> factors;
  for (const RegionSample& region : calibration.regions)
    if (region.predicted > 0) factors.push_back(region.seconds / region.predicted);
  if (factors.empty()) return 1;
  const auto half = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
  std::nth_element(factors.begin(), half, factors.end());
  return std::clamp(*half, 1 / kMax, kMax);
}

std::optional<int> best_share(const Calibration& calibration, std::uint64_t key) {
  const SplitSample* best = nullptr;
  for (const SplitSample& sample : calibration.splits) {
    if (sample.key != key || sample.seconds >= SplitSample::kRefused) continue;
    if (best == nullptr || sample.seconds < best->seconds) best = &sample;
  }
  return best == nullptr ? std::nullopt : std::optional(best->share);
}

std::optional<int> next_share(const Calibration& calibration, std::uint64_t key) {
  const std::optional<int> best = best_share(calibration, key);
  if (!best) return std::nullopt;
  for (const int share : {*best + 1, *best - 1}) {
    const bool tried = std::ranges::any_of(calibration.splits, [&](const SplitSample& sample) {
      return sample.key == key && sample.share == share;
    });
    if (!tried && share > 0 && share < kShares) return share;
  }
  return best;
}

}  // namespace parallax
