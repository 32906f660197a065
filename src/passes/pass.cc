#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "ops/infer.h"
#include "passes/control_flow.h"

namespace parallax {
namespace {

Status check_names(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const bool known =
        std::ranges::any_of(all_passes(), [&](const Pass& pass) { return pass.name == name; });
    if (known) continue;
    std::string message = fmt::format("no pass is named '{}'; there are", name);
    for (const Pass& pass : all_passes()) message += fmt::format(" {}", pass.name);
    return tl::unexpected(Error{Stage::kPasses, ErrorCode::kInvalidInput, "", std::move(message)});
  }
  return {};
}

Status run_pass(const Pass& pass, Graph& graph, const PassContext& context, int& changes) {
  PX_ASSIGN(changes, run_with_bodies(pass, graph, context));
  if (changes == 0) return {};
  settle(graph, *context.budget);
  return verify(graph, Stage::kPasses);
}

}  // namespace

Result<std::vector<PassReport>> run_passes(Graph& graph, const PassContext& context,
                                           std::span<const std::string> disabled) {
  PX_RETURN_IF_ERROR(check_names(disabled));
  std::vector<PassReport> reports;
  for (const Pass& pass : all_passes()) {
    if (std::ranges::find(disabled, pass.name) != disabled.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    PassReport report{pass.name, 0, {}};
    if (auto status = run_pass(pass, graph, context, report.changes); !status) {
      Error error = std::move(status).error();
      error.stage = Stage::kPasses;
      error.message = fmt::format("pass {}: {}", pass.name, error.message);
      return tl::unexpected(std::move(error));
    }
    report.time = std::chrono::steady_clock::now() - start;
    reports.push_back(report);
  }
  return reports;
}

}  // namespace parallax
