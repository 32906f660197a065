// The resources that a run of a model needs, for `parallax info`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options/options.h"

namespace parallax::cli {

/// Under one value for each free dimension.
struct Need {
  std::vector<DimValue> dims;
  std::vector<std::string> chosen;  ///< dimensions that were not given, but tried out
  PlanReport plan;
};

/// Dimensions that are not given get a usual value that the model can be planned with; nullopt if
/// no such value fits. Errors: of the plan, if all are given. Throws UsageError.
Result<std::optional<Need>> need_of(const Options& options, const Model& model);

void print_need(const Need& need);
/// {"dims": {...}, "chosen": [...], "packed_weight_bytes": N, "thread_bytes": [...], "kernel_list":
/// [...]}
nlohmann::json need_json(const Need& need);

}  // namespace parallax::cli
