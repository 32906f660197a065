// `parallax delegates`: lists what can run parts of models next to the CPU.
#include <fmt/core.h>

#include <string_view>

#include "reports/report.h"

namespace parallax::cli {
namespace {

std::string_view memory_of(const DelegateReport& d) {
  if (d.shares_memory) return "shared with the CPU";
  return d.in_cpu_memory ? "allocated in the CPU's memory" : "of its own";
}

std::string line_of(const DelegateReport& d) {
  if (!d.problem.empty()) return fmt::format("not available: {}", d.problem);
  return fmt::format("{}{}{}, {} {}, {} operators", d.device.empty() ? "device unknown" : d.device,
                     d.driver.empty() ? "" : ", ", d.driver, format_bytes(d.memory_bytes),
                     memory_of(d), d.operators);
}

}  // namespace

nlohmann::json delegates_json(const std::vector<DelegateReport>& delegates) {
  nlohmann::json list = nlohmann::json::array();
  for (const DelegateReport& d : delegates) {
    nlohmann::json failures = nlohmann::json::array();
    for (const auto& failure : d.failures)
      failures.push_back({{"node", failure.node},
                          {"reason", failure.reason},
                          {"for_a_while", failure.for_a_while}});
    nlohmann::json returned = nlohmann::json::array();
    for (const auto& region : d.returned)
      returned.push_back({{"node", region.node}, {"reason", region.reason}});
    list.push_back({{"name", d.name},
                    {"file", d.file.string()},
                    {"device", d.device},
                    {"driver", d.driver},
                    {"memory_bytes", d.memory_bytes},
                    {"shares_memory", d.shares_memory},
                    {"in_cpu_memory", d.in_cpu_memory},
                    {"held_bytes", d.held_bytes},
                    {"peak_bytes", d.peak_bytes},
                    {"operators", d.operators},
                    {"problem", d.problem},
                    {"failures", std::move(failures)},
                    {"returned", std::move(returned)}});
  }
  return list;
}

Status delegates_command(const Options& options) {
  auto runtime = make_runtime(options, false);
  if (!runtime) return tl::unexpected(runtime.error());
  const std::vector<DelegateReport> delegates = runtime->delegates();
  if (options.json != "-") {
    if (delegates.empty()) fmt::print("none\n");
    for (const DelegateReport& d : delegates)
      fmt::print("{}{}  {}\n", d.name,
                 d.file.empty() || d.file == d.name ? "" : fmt::format(" ({})", d.file.string()),
                 line_of(d));
  }
  return options.json.empty() ? Status{} : write_json(options.json, delegates_json(delegates));
}

}  // namespace parallax::cli
