#include "reports/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace parallax::cli {
namespace {

constexpr std::size_t kEnoughForP99 = 100;

// Nearest-rank percentile of sorted values.
double percentile(const std::vector<double>& sorted, double p) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

nlohmann::json latency_json(std::span<const double> ms) {
  std::vector<double> sorted(ms.begin(), ms.end());
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  const std::size_t half = sorted.size() / 2;
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (double each : sorted) squares += (each - mean) * (each - mean);
  nlohmann::json json = {
      {"min", sorted.front()},
      {"median", sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2},
      {"mean", mean},
      {"stddev", nullptr},
      {"p90", percentile(sorted, 90)},
      {"p95", percentile(sorted, 95)},
      {"p99", nullptr},
      {"max", sorted.back()}};
  if (sorted.size() > 1) json["stddev"] = std::sqrt(squares / (count - 1));
  if (sorted.size() >= kEnoughForP99) json["p99"] = percentile(sorted, 99);
  return json;
}

}  // namespace parallax::cli
