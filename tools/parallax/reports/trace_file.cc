#include "reports/trace_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace parallax::cli {
namespace {

using nlohmann::json;

// Processes of the format: a heading over rows.
constexpr int kCpu = 1, kDevice = 2;

json name_of(const char* what, int process, int row, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", row}, {"args", {{"name", name}}}};
}

json event(const std::string& name, const char* category, int process, int row, std::int64_t start,
           std::int64_t end, json arguments) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"pid", process},
          {"tid", row},
          {"ts", static_cast<double>(start) * 1e-3},
          {"dur", static_cast<double>(end - start) * 1e-3},
          {"args", std::move(arguments)}};
}

json region_event(const RegionEvent& region, int row, const PlanReport& plan) {
  json arguments = {{"branch", region.branch}};
  if (!region.problem.empty()) arguments["problem"] = region.problem;
  if (!region.body.empty()) arguments["body"] = region.body;
  const auto planned = std::ranges::find(plan.region_reports, region.region, &RegionReport::id);
  if (planned != plan.region_reports.end()) {
    arguments["nodes"] = planned->nodes;
    arguments["macs"] = planned->macs;
    arguments["bytes"] = planned->boundary_bytes;
    arguments["predicted_ms"] = planned->delegate_ms;
  }
  return event(fmt::format("region {}", region.region), "region", kDevice, row, region.start_ns,
               region.end_ns, std::move(arguments));
}

}  // namespace

json trace_json(const RunTrace& trace, const PlanReport& plan) {
  json events = json::array({name_of("process_name", kCpu, 0, "CPU")});
  int last = -1;
  for (const NodeEvent& node : trace.nodes) {
    last = std::max(last, node.worker);
    events.push_back(event(node.node, "node", kCpu, node.worker, node.start_ns, node.end_ns,
                           {{"op", node.op},
                            {"kernel", node.kernel},
                            {"shapes", node.shapes},
                            {"macs", node.macs},
                            {"bytes", node.bytes},
                            {"branch", node.branch},
                            {"tiles", node.tiles}}));
  }
  for (int worker = 0; worker <= last; ++worker)
    events.push_back(name_of("thread_name", kCpu, worker, fmt::format("thread {}", worker)));
  if (!trace.regions.empty()) events.push_back(name_of("process_name", kDevice, 0, "delegates"));
  std::vector<std::string> delegates;
  for (const RegionEvent& region : trace.regions) {
    const auto found = std::ranges::find(delegates, region.delegate);
    const auto row = static_cast<int>(found - delegates.begin());
    if (found == delegates.end()) {
      delegates.push_back(region.delegate);
      events.push_back(name_of("thread_name", kDevice, row, region.delegate));
    }
    events.push_back(region_event(region, row, plan));
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace parallax::cli
