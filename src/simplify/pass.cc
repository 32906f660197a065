#include "simplify/pass.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/status.h"
#include "ops/infer.h"
#include "simplify/control_flow.h"

namespace parallax {
namespace {

Status run_pass(const Pass& pass, Graph& graph, const PassContext& context, int& changes) {
  PX_ASSIGN(changes, run_with_bodies(pass, graph, context));
  if (changes == 0) return {};
  settle(graph, *context.budget);
  return verify(graph, Stage::kPasses);
}

}  // namespace

Status check_pass_names(std::span<const Pass> passes, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(passes, name, &Pass::name) != passes.end()) continue;
    std::string message = fmt::format("no pass is named '{}'; there are", name);
    for (const Pass& pass : passes) message += fmt::format(" {}", pass.name);
    return tl::unexpected(Error{Stage::kPasses, ErrorCode::kInvalidInput, "", std::move(message)});
  }
  return {};
}

Result<std::vector<PassReport>> run_passes(std::span<const Pass> passes, Graph& graph,
                                           const PassContext& context,
                                           std::span<const std::string> disabled) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
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
