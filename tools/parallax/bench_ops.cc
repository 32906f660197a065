#include "bench_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace parallax::cli {
namespace {

// Billions a second of what takes `ms`.
double giga(double count, double ms) { return ms > 0 ? count * 1e-6 / ms : 0; }

double sum_of_ms(const std::vector<OpRow>& rows) {
  double total = 0;
  for (const OpRow& row : rows) total += row.ms;
  return total;
}

double share(double ms, double total) { return total > 0 ? 100 * ms / total : 0; }

}  // namespace

std::vector<OpRow> op_rows(const std::vector<RunTrace>& traces) {
  std::map<std::string, OpRow> rows;
  const double part = 1e-6 / static_cast<double>(traces.size());
  for (const RunTrace& trace : traces) {
    std::set<std::string> seen;
    for (const NodeEvent& e : trace.nodes) {
      OpRow& row = rows[e.node];
      row.event = e;
      if (seen.insert(e.node).second) row.begin_ms += static_cast<double>(e.start_ns) * part;
      row.ms += static_cast<double>(e.end_ns - e.start_ns) * part;
      row.times += 1 / static_cast<double>(traces.size());
    }
  }
  std::vector<OpRow> sorted;
  sorted.reserve(rows.size());
  for (auto& [name, row] : rows) sorted.push_back(row);
  std::ranges::sort(sorted, std::greater{}, &OpRow::ms);
  return sorted;
}

std::vector<OpTotal> op_totals(const std::vector<OpRow>& rows) {
  std::map<std::string, OpTotal> by_op;
  for (const OpRow& row : rows) {
    OpTotal& total = by_op[row.event.op];
    total.op = row.event.op;
    ++total.nodes;
    total.ms += row.ms;
    total.macs += row.times * static_cast<double>(row.event.macs);
    total.bytes += row.times * static_cast<double>(row.event.bytes);
  }
  std::vector<OpTotal> totals;
  totals.reserve(by_op.size());
  for (auto& [op, total] : by_op) totals.push_back(total);
  std::ranges::sort(totals, std::greater{}, &OpTotal::ms);
  return totals;
}

nlohmann::json ops_json(const std::vector<OpRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpRow& row : rows) {
    const NodeEvent& e = row.event;
    list.push_back({{"node", e.node},
                    {"op", e.op},
                    {"kernel", e.kernel},
                    {"shapes", e.shapes},
                    {"branch", e.branch},
                    {"macs", e.macs},
                    {"bytes", e.bytes},
                    {"tiles", e.tiles},
                    {"times", row.times},
                    {"begin_ms", row.begin_ms},
                    {"ms", row.ms}});
  }
  return list;
}

nlohmann::json op_totals_json(const std::vector<OpTotal>& totals) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpTotal& total : totals) {
    list.push_back({{"op", total.op},
                    {"nodes", total.nodes},
                    {"ms", total.ms},
                    {"macs", total.macs},
                    {"bytes", total.bytes}});
  }
  return list;
}

void print_ops(const std::vector<OpRow>& rows, const std::vector<OpTotal>& totals) {
  const double total = sum_of_ms(rows);
  fmt::print("{:>9} {:>6} {:>9} {:>8} {:>5}  {:<18} {:<10} {}\n", "ms", "%", "GFLOP/s", "GB/s",
             "tiles", "operator", "kernel", "node  shapes");
  for (const OpRow& r : rows) {
    fmt::print("{:>9.4f} {:>6.2f} {:>9.1f} {:>8.2f} {:>5}  {:<18} {:<10} {}  {}\n", r.ms,
               share(r.ms, total), giga(2 * r.times * static_cast<double>(r.event.macs), r.ms),
               giga(r.times * static_cast<double>(r.event.bytes), r.ms), r.event.tiles, r.event.op,
               r.event.kernel, r.event.node, r.event.shapes);
  }
  fmt::print("{:>9.4f} 100.00  sum over {} nodes\n\n", total, rows.size());
  fmt::print("{:>9} {:>6} {:>9} {:>8} {:>5}  {}\n", "ms", "%", "GFLOP/s", "GB/s", "nodes",
             "operator");
  for (const OpTotal& t : totals) {
    fmt::print("{:>9.4f} {:>6.2f} {:>9.1f} {:>8.2f} {:>5}  {}\n", t.ms, share(t.ms, total),
               giga(2 * t.macs, t.ms), giga(t.bytes, t.ms), t.nodes, t.op);
  }
}

}  // namespace parallax::cli
