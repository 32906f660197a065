// The time of a run by node and by operator: `bench --ops`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parallax/report.h"

namespace parallax::cli {

/// One node, times averaged over the traced runs.
struct OpRow {
  NodeEvent event;
  double begin_ms = 0, ms = 0;
  double times = 0;  ///< a run: in a loop, a node runs several times
};
/// Longest first.
std::vector<OpRow> op_rows(const std::vector<RunTrace>& traces);

/// All nodes of one operator.
struct OpTotal {
  std::string op;
  int nodes = 0;
  double ms = 0;
  double macs = 0, bytes = 0;  ///< a run
};
/// Longest first.
std::vector<OpTotal> op_totals(const std::vector<OpRow>& rows);

nlohmann::json ops_json(const std::vector<OpRow>& rows);
nlohmann::json op_totals_json(const std::vector<OpTotal>& totals);
/// Two tables: nodes, then operators.
void print_ops(const std::vector<OpRow>& rows, const std::vector<OpTotal>& totals);

}  // namespace parallax::cli
