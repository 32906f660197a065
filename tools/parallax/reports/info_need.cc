#include "reports/info_need.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "options/example.h"
#include "parallax/planner.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

std::string dims_text(const std::vector<DimValue>& dims) {
  std::vector<std::string> parts;
  for (const DimValue& dim : dims) parts.push_back(fmt::format("{}={}", dim.name, dim.value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

struct OperatorKernels {
  std::string op;
  int nodes = 0;
  std::vector<std::string>
      kernels;  ///< "window", or "window 17", "winograd_4x4 4" where there are several
};

std::vector<OperatorKernels> by_operator(const std::vector<KernelReport>& reports) {
  std::vector<OperatorKernels> rows;
  for (const KernelReport& report : reports) {
    auto row = std::ranges::find(rows, report.op, &OperatorKernels::op);
    if (row == rows.end()) row = rows.insert(row, {report.op, 0, {}});
    row->nodes += report.nodes;
    row->kernels.push_back(fmt::format("{} {}", report.kernel, report.nodes));
  }
  for (OperatorKernels& row : rows) {
    if (row.kernels.size() > 1) continue;
    row.kernels.front().resize(row.kernels.front().rfind(' '));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &OperatorKernels::nodes);
  return rows;
}

}  // namespace

Result<std::optional<Need>> need_of(const Options& options, const Model& model) {
  const SymbolValues known = symbol_values(options, model);
  auto chosen = example_dims(model, known);
  if (!chosen) {
    if (known.size() < model.symbols().size()) return std::nullopt;
    return tl::unexpected(chosen.error());
  }
  Need need;
  need.dims = dims_of_run(known, 0);
  for (DimValue& dim : *chosen) {
    need.chosen.push_back(dim.name);
    need.dims.push_back(std::move(dim));
  }
  auto session = Session::create(model);
  if (!session) return tl::unexpected(session.error());
  auto plan = Planner(*session).plan(need.dims);
  if (!plan) return tl::unexpected(plan.error());
  need.plan = *std::move(plan);
  return need;
}

void print_need(const Need& need) {
  if (!need.dims.empty()) {
    fmt::print("with {}{}:\n", dims_text(need.dims),
               need.chosen.empty() ? "" : " (--dim gives other values)");
  }
  fmt::print("{:>7}  {:<28}  {}\n", "count", "operator after loading", "kernels that it gets");
  for (const OperatorKernels& row : by_operator(need.plan.kernel_reports))
    fmt::print("{:>7}  {:<28}  {}\n", row.nodes, row.op, fmt::join(row.kernels, ", "));
  fmt::print("\nmemory of a run, without the weights in the file and the outputs\n");
  fmt::print("  weights packed for kernels  {} bytes ({}), once\n", need.plan.packed_weight_bytes,
             format_bytes(need.plan.packed_weight_bytes));
  fmt::print("  activations and scratch     {:>22}  {:>22}\n", "without a budget",
             "the least budget");
  for (const ThreadBytes& t : need.plan.thread_bytes) {
    const std::int64_t bytes = t.arena_bytes + t.scratch_bytes;
    fmt::print("    {} {:<7}                 {:>11} {:>10}  {:>11} {:>10}\n", t.threads,
               t.threads == 1 ? "thread" : "threads", bytes, format_bytes(bytes), t.min_bytes,
               format_bytes(t.min_bytes));
  }
  if (std::ranges::count(need.plan.kernel_reports, "run time", &KernelReport::kernel) > 0)
    fmt::print("    and what tensors take of which only running tells the size\n");
}

nlohmann::json need_json(const Need& need) {
  nlohmann::json dims = nlohmann::json::object();
  for (const DimValue& dim : need.dims) dims[dim.name] = dim.value;
  return {{"dims", dims},
          {"chosen", need.chosen},
          {"packed_weight_bytes", need.plan.packed_weight_bytes},
          {"thread_bytes", threads_json(need.plan)},
          {"kernel_list", kernels_json(need.plan)}};
}

}  // namespace parallax::cli
