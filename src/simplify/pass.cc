#include "simplify/pass.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status.h"
#include "ir/verify.h"
#include "ops/infer.h"
#include "simplify/control_flow.h"

namespace parallax {
namespace {

Status run_pass(const Pass& pass, Graph& graph, const PassContext& context, int& changes) {
  PX_ASSIGN(changes, run_with_bodies(pass, graph, context));
  if (changes == 0) return {};
  settle(graph, *context.quota);
  return verify_structure(graph, Stage::kSimplify);
}

tl::unexpected<Error> fault_of(const std::string& passes, Error error) {
  error.stage = Stage::kSimplify;
  error.message = fmt::format("{}: {}", passes, error.message);
  return tl::unexpected(std::move(error));
}

/// Checks the results of all passes together; a check after each pass would be as slow as the
/// passes.
Status check_written(const Graph& graph, const PassContext& context,
                     std::span<const PassReport> reports) {
  std::string changed;
  for (const PassReport& report : reports)
    if (report.changes > 0)
      changed += fmt::format("{}{}", changed.empty() ? "" : ", ", report.name);
  if (changed.empty()) return {};
  PX_RETURN_IF_ERROR(verify_names(graph, Stage::kSimplify));
  auto status = check_inferred(graph, *context.quota);
  return status ? status : fault_of("pass " + changed, std::move(status).error());
}

}  // namespace

void NearMisses::add(std::string_view reason, const Node& node) {
  const auto same = std::ranges::find(list_, reason, &NearMiss::reason);
  if (same != list_.end()) {
    ++same->count;
  } else {
    list_.push_back({std::string(reason), node.name, 1});
  }
}

std::vector<NearMiss> NearMisses::take() { return std::exchange(list_, {}); }

Status check_pass_names(std::span<const Pass> passes, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(passes, name, &Pass::name) != passes.end()) continue;
    std::string message = fmt::format("no pass is named '{}'; there are", name);
    for (const Pass& pass : passes) message += fmt::format(" {}", pass.name);
    return tl::unexpected(
        Error{Stage::kSimplify, ErrorCode::kInvalidInput, "", std::move(message)});
  }
  return {};
}

Result<std::vector<PassReport>> run_passes(std::span<const Pass> passes, Graph& graph,
                                           const PassContext& context,
                                           std::span<const std::string> disabled) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    PassReport& report = reports.emplace_back();
    report.name = pass.name;
    report.disabled = std::ranges::find(disabled, pass.name) != disabled.end();
    if (report.disabled) continue;
    const auto start = std::chrono::steady_clock::now();
    if (auto status = run_pass(pass, graph, context, report.changes); !status)
      return fault_of(fmt::format("pass {}", pass.name), std::move(status).error());
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report.time_ms = time.count();
    report.near_misses = context.near_misses->take();
  }
  PX_RETURN_IF_ERROR(check_written(graph, context, reports));
  return reports;
}

}  // namespace parallax
