// `parallax simulate`: how long a plan would take on the cores of a profile, without running.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "options/profiles.h"
#include "parallax/planner.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

/// Branches of the printed list; --json has all.
constexpr std::size_t kPrinted = 12;

/// A user who compares a prediction with a clock should know where its rates are from.
void print_basis(const PredictionBasis& basis) {
  fmt::print(
      "rests on: {} nodes timed on the device, {} like timed ones, {} by its rates: {:.3g} MAC/s "
      "of "
      "the fastest core{}, {:.3g} bytes/s\nsource of the rates: {}{}\n",
      basis.timed_nodes, basis.similar_nodes, basis.rate_nodes, basis.macs_per_second,
      basis.hertz > 0 ? fmt::format(" at {:.2f} GHz", basis.hertz * 1e-9) : "",
      basis.bytes_per_second, basis.source.empty() ? "the profile does not say" : basis.source,
      basis.timed_nodes + basis.similar_nodes > 0
          ? ""
          : "\nno node was timed: compare this with other predictions from these rates, not with a "
            "clock");
}

void print(const Options& options, const Prediction& prediction) {
  fmt::print("{}: {:.3f} ms on {} {}{}, which are busy {:.0f} % of that time\n", prediction.profile,
             prediction.latency_ms, prediction.cores, prediction.cores == 1 ? "core" : "cores",
             options.delegates.empty()
                 ? ""
                 : fmt::format(" and the accelerator of {}", fmt::join(options.delegates, ", ")),
             prediction.latency_ms > 0
                 ? 100 * prediction.busy_ms / prediction.latency_ms / prediction.cores
                 : 0);
  print_basis(prediction.basis);
  if (prediction.unknown_nodes > 0) {
    fmt::print("{} nodes have shapes that only running can tell; they count as taking no time\n",
               prediction.unknown_nodes);
  }
  auto branches = prediction.branches;
  const auto length = [](const Prediction::Branch& b) { return b.end_ms - b.begin_ms; };
  std::ranges::stable_sort(branches, std::greater{}, length);
  branches.resize(std::min(branches.size(), kPrinted));
  fmt::print("{:>6}  {:>10}  {:>10}  {:>10}   the {} longest branches\n", "branch", "begin ms",
             "end ms", "ms", branches.size());
  for (const auto& b : branches)
    fmt::print("{:>6}  {:>10.3f}  {:>10.3f}  {:>10.3f}\n", b.id, b.begin_ms, b.end_ms, length(b));
}

nlohmann::json basis_json(const PredictionBasis& basis) {
  return {{"source", basis.source},
          {"hertz", basis.hertz},
          {"macs_per_second", basis.macs_per_second},
          {"bytes_per_second", basis.bytes_per_second},
          {"timed_nodes", basis.timed_nodes},
          {"similar_nodes", basis.similar_nodes},
          {"rate_nodes", basis.rate_nodes}};
}

nlohmann::json to_json(const Options& options, const Prediction& prediction) {
  nlohmann::json branches = nlohmann::json::array();
  for (const auto& b : prediction.branches)
    branches.push_back({{"id", b.id}, {"begin_ms", b.begin_ms}, {"end_ms", b.end_ms}});
  nlohmann::json json = {{"model", options.model},
                         {"profile", prediction.profile},
                         {"cores", prediction.cores},
                         {"predicted_ms", prediction.latency_ms},
                         {"busy_ms", prediction.busy_ms},
                         {"unknown_nodes", prediction.unknown_nodes},
                         {"basis", basis_json(prediction.basis)},
                         {"branch_list", branches}};
  if (!options.delegates.empty())
    json["delegate"] = fmt::format("{}", fmt::join(options.delegates, ", "));
  return json;
}

}  // namespace

Status simulate_command(const Options& options) {
  Options own = options;
  PlanOptions wanted = options.plan;
  const bool runs = has_delegates(options);
  if (runs && options.profile.empty())
    throw UsageError(fmt::format("--delegate {} says nothing of cores: --profile names a device",
                                 fmt::join(options.delegates, ", ")));
  const std::string device =
      find_profile(options.profile.empty() ? options.delegates.front() : options.profile);
  if (runs) {
    use_delegates(own);
  } else if (!options.delegates.empty()) {
    check_runs(options);
    wanted.profile = find_profile(options.delegates.front());
  }
  auto cores = Planner::profile_cores(device);
  if (!cores) return tl::unexpected(cores.error());
  if (*cores == 0) {
    throw UsageError(
        fmt::format("'{}' describes no cores; --profile names a device that has some", device));
  }
  if (own.session.threads > *cores) {
    throw UsageError(
        fmt::format("--threads {}: '{}' has {} cores", own.session.threads, device, *cores));
  }
  if (own.session.threads == 0) own.session.threads = *cores;
  auto opened = open_model(own, false);
  if (!opened) return tl::unexpected(opened.error());
  auto prediction =
      Planner(opened->session).predict(dims_of_run(opened->values, 0), device, wanted);
  if (!prediction) return tl::unexpected(prediction.error());
  if (options.json != "-") print(options, *prediction);
  return options.json.empty() ? Status{} : write_json(options.json, to_json(options, *prediction));
}

}  // namespace parallax::cli
