// One run as a trace that chrome://tracing and Perfetto draw: `bench --trace`.
#pragma once

#include <nlohmann/json.hpp>

#include "parallax/report.h"

namespace parallax::cli {

/// The Trace Event Format: a row for each thread of the CPU, and for each delegate. Times in
/// microseconds; regions with the bytes that go in and out and the time that `plan` predicts.
nlohmann::json trace_json(const RunTrace& trace, const PlanReport& plan);

}  // namespace parallax::cli
