// Figures of a list of times.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

namespace parallax::cli {

/// {"min", "median", "mean", "stddev", "p90", "p95", "p99", "max"} of `ms`, which is not empty.
/// Null where too few times make a figure: stddev of one, p99 (nearest rank) of fewer than 100,
/// which would be the maximum by another name.
nlohmann::json latency_json(std::span<const double> ms);

}  // namespace parallax::cli
