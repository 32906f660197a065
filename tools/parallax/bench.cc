// `parallax bench`: latency, throughput, memory, CPU time; per node with --ops.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "bench_ops.h"
#include "bench_runs.h"
#include "interrupt.h"
#include "parallax/planner.h"
#include "parallax/version.h"
#include "reports/machine.h"
#include "reports/report.h"
#include "reports/statistics.h"
#include "reports/trace_file.h"

namespace parallax::cli {
namespace {

// The most memory that was ever resident, of this program alone. (getrusage would count what the
// parent had before exec.) Nullopt if the system does not tell.
std::optional<std::int64_t> peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

double runs_per_second(const Timed& timed) {
  return timed.seconds > 0 ? static_cast<double>(timed.ms.size()) / timed.seconds : 0;
}

// The times of the runs that took combination `value` of `values`.
std::vector<double> of_value(const std::vector<double>& ms, std::size_t value, std::size_t values) {
  std::vector<double> part;
  for (std::size_t i = value; i < ms.size(); i += values) part.push_back(ms[i]);
  return part;
}

// A row per combination of values that ran: all where Ctrl-C did not end it.
nlohmann::json values_json(const SymbolValues& values, const std::vector<double>& ms) {
  nlohmann::json rows = nlohmann::json::array();
  const std::size_t count = value_count(values);
  for (std::size_t value = 0; value < std::min(count, ms.size()); ++value) {
    nlohmann::json dims = nlohmann::json::object();
    for (const DimValue& dim : dims_of_run(values, value)) dims[dim.name] = dim.value;
    const auto part = of_value(ms, value, count);
    rows.push_back({{"dims", dims}, {"runs", part.size()}, {"latency_ms", latency_json(part)}});
  }
  return rows;
}

std::string ms_text(const nlohmann::json& ms) {
  return ms.is_null() ? "-" : fmt::format("{:.3f}", ms.get<double>());
}

// One line for all runs. Figures that too few runs make are left out.
void print_latency(const nlohmann::json& latency) {
  std::string text = "latency ms  ";
  for (const char* key : {"min", "median", "mean", "stddev", "p90", "p99", "max"}) {
    if (!latency[key].is_null()) text += fmt::format(" {} {} ", key, ms_text(latency[key]));
  }
  text.pop_back();
  fmt::print("{}\n", text);
}

void print_values(const nlohmann::json& rows) {
  if (rows.size() < 2) return;
  std::string head;
  for (const auto& [name, value] : rows[0]["dims"].items()) head += fmt::format("{:>9} ", name);
  fmt::print("\n{}{:>7}", head, "runs");
  constexpr const char* kKeys[] = {"min", "median", "mean", "stddev", "max"};
  for (const char* key : kKeys) fmt::print("{:>10}", key);
  fmt::print("  ms\n");
  for (const nlohmann::json& row : rows) {
    for (const auto& [name, value] : row["dims"].items())
      fmt::print("{:>{}} ", value.get<std::int64_t>(), std::max<std::size_t>(9, name.size()));
    fmt::print("{:>7}", row["runs"].get<std::size_t>());
    for (const char* key : kKeys) fmt::print("{:>10}", ms_text(row["latency_ms"][key]));
    fmt::print("\n");
  }
}

// Null where nothing was predicted: without a delegate.
nlohmann::json predicted_json(const PlanReport& plan) {
  return plan.predicted_ms > 0 ? nlohmann::json(plan.predicted_ms) : nlohmann::json();
}

struct Measured {
  Timed timed;
  double load_ms = 0;
  std::optional<std::int64_t> rss = {};
  PlanReport plan;  // plan for the first value
};

nlohmann::json to_json(const Options& options, const Model& model, Session& session,
                       const SymbolValues& values, const Measured& measured) {
  const Timed& timed = measured.timed;
  const PlanReport& plan = measured.plan;
  const LoadTimes& load = model.load_times();
  return {{"model", options.model},
          {"version", PARALLAX_VERSION},
          {"commit", commit_json()},
          {"machine", machine_json()},
          {"scheduler", scheduler_name(options.session.scheduler)},
          {"threads", session.threads()},
          {"precision", precision_name(options.session.precision)},
          {"load_ms", measured.load_ms},
          {"load_split_ms",
           {{"map", load.map_ms},
            {"parse", load.parse_ms},
            {"passes", load.passes_ms},
            {"plan", timed.planning.plan_ms},
            {"pack", timed.planning.pack_ms}}},
          {"first_run_ms", timed.first_run_ms},
          {"concurrency", options.concurrency},
          {"runs", timed.ms.size()},
          {"interrupted", timed.interrupted},
          {"seconds", timed.seconds},
          {"runs_per_second", runs_per_second(timed)},
          {"latency_ms", latency_json(timed.ms)},
          {"samples_ms", timed.ms},
          {"values", values_json(values, timed.ms)},
          {"peak_rss_bytes", measured.rss ? nlohmann::json(*measured.rss) : nlohmann::json()},
          {"arena_bytes", arena_json(plan.arena_bytes)},
          {"peak_arena_bytes", session.peak_arena_bytes()},
          {"plan_cache_bytes", Planner(session).cache_bytes()},
          {"memory_budget", budget_json(options.session.budget, plan)},
          {"packed_weight_bytes", plan.packed_weight_bytes},
          {"cache", cache_json(model.cache())},
          {"delegates", delegates_json(session.delegates())},
          {"regions", plan.regions},
          {"predicted_ms", predicted_json(plan)},
          {"cpu_ms_per_run", timed.cpu_ms_per_run}};
}

void print(const Options& options, const Model& model, Session& session, const Measured& measured,
           const nlohmann::json& json) {
  const Timed& timed = measured.timed;
  const LoadTimes& load = model.load_times();
  fmt::print("{}: {} runs{}, {} scheduler, {} threads{}, {}\n", options.model, timed.ms.size(),
             timed.interrupted ? " until interrupted" : "",
             scheduler_name(options.session.scheduler), session.threads(),
             options.concurrency > 1 ? fmt::format(", {} callers", options.concurrency) : "",
             precision_name(options.session.precision));
  print_latency(json["latency_ms"]);
  fmt::print("throughput   {:.2f} runs a second\n", runs_per_second(timed));
  fmt::print(
      "load {:.1f} ms (map {:.1f}, parse {:.1f}, passes {:.1f}), first run {:.1f} ms (plan {:.1f}, "
      "pack {:.1f}), CPU {:.1f} ms a run\n",
      measured.load_ms, load.map_ms, load.parse_ms, load.passes_ms, timed.first_run_ms,
      timed.planning.plan_ms, timed.planning.pack_ms, timed.cpu_ms_per_run);
  fmt::print(
      "memory       resident at most {}, activations and scratch at most {} (budget {}), packed "
      "weights {}, plans {}\n",
      measured.rss ? format_bytes(*measured.rss) : "unknown",
      format_bytes(session.peak_arena_bytes()), budget_text(options.session.budget, measured.plan),
      format_bytes(measured.plan.packed_weight_bytes),
      format_bytes(Planner(session).cache_bytes()));
  for (const DelegateReport& d : session.delegates()) {
    fmt::print("delegate     {}: {} regions, {} of them failed; predicted {:.3f} ms\n", d.name,
               measured.plan.regions, d.failures.size(), measured.plan.predicted_ms);
    for (const auto& region : d.returned)
      fmt::print("             gave the region of '{}' back: {}\n", region.node, region.reason);
  }
  print_values(json["values"]);
}

}  // namespace

Status bench_command(const Options& options) {
  const std::int64_t start = now_ns();
  auto model = load_model(options);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, options.session);
  if (!session) return tl::unexpected(session.error());
  Measured measured;
  measured.load_ms = static_cast<double>(now_ns() - start) * 1e-6;
  SymbolValues values = symbol_values(options, *model);
  auto timed = time_runs(options, *model, *session, values);
  if (!timed) return tl::unexpected(timed.error());
  measured.timed = *std::move(timed);
  if (measured.timed.ms.empty()) {
    fmt::print(stderr, "parallax: interrupted before the first timed run\n");
    end_by_interrupt();
  }
  measured.rss = peak_rss_bytes();
  auto plan = Planner(*session).plan(dims_of_run(values, 0));
  if (!plan) return tl::unexpected(plan.error());
  measured.plan = *std::move(plan);

  nlohmann::json json = to_json(options, *model, *session, values, measured);
  const std::vector<OpRow> ops = op_rows(measured.timed.traces);
  const std::vector<OpTotal> totals = op_totals(ops);
  if (options.ops) {
    json["ops"] = ops_json(ops);
    json["op_totals"] = op_totals_json(totals);
  }
  if (options.json != "-") {
    print(options, *model, *session, measured, json);
    if (options.ops) print_ops(ops, totals);
  }
  Status status = options.json.empty() ? Status{} : write_json(options.json, json);
  if (status && !options.trace.empty() && !measured.timed.traces.empty())
    status = write_json(options.trace, trace_json(measured.timed.traces.back(), measured.plan));
  if (status && measured.timed.interrupted) end_by_interrupt();
  return status;
}

}  // namespace parallax::cli
