// `parallax bench`: latency, memory, CPU time; per node with --ops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "inputs.h"
#include "report.h"

namespace parallax::cli {
namespace {

// The most memory that was ever resident, of this program alone. (getrusage would count what the
// parent had before exec.)
std::int64_t peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Nearest-rank percentile of sorted values.
double percentile(const std::vector<double>& sorted, double p) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

nlohmann::json latency_json(std::vector<double> ms) {
  std::ranges::sort(ms);
  const std::size_t half = ms.size() / 2;
  const double median = ms.size() % 2 == 1 ? ms[half] : (ms[half - 1] + ms[half]) / 2;
  return {{"min", ms.front()},
          {"median", median},
          {"mean", std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size())},
          {"p90", percentile(ms, 90)},
          {"p95", percentile(ms, 95)},
          {"p99", percentile(ms, 99)},
          {"max", ms.back()}};
}

// One row per node, times averaged over the traced runs.
struct OpRow {
  NodeEvent event;
  double begin_ms = 0, ms = 0;
  double times = 0;  // a run
};

// Longest first.
std::vector<OpRow> op_rows(const std::vector<RunTrace>& traces) {
  std::map<std::string, OpRow> rows;
  const double share = 1e-6 / static_cast<double>(traces.size());
  for (const RunTrace& trace : traces) {
    std::set<std::string> seen;
    for (const NodeEvent& e : trace.nodes) {
      OpRow& row = rows[e.node];
      row.event = e;
      // In a loop, a node runs several times.
      if (seen.insert(e.node).second) row.begin_ms += static_cast<double>(e.start_ns) * share;
      row.ms += static_cast<double>(e.end_ns - e.start_ns) * share;
      row.times += 1 / static_cast<double>(traces.size());
    }
  }
  std::vector<OpRow> sorted;
  sorted.reserve(rows.size());
  for (auto& [name, row] : rows) sorted.push_back(row);
  std::ranges::sort(sorted, std::greater{}, &OpRow::ms);
  return sorted;
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

void print_ops(const std::vector<OpRow>& sorted) {
  double total = 0;
  for (const OpRow& row : sorted) total += row.ms;
  fmt::print("{:>9} {:>6} {:>9} {:>8} {:>5}  {:<18} {:<10} {}\n", "ms", "%", "GFLOP/s", "GB/s",
             "tiles", "operator", "kernel", "node  shapes");
  for (const OpRow& r : sorted) {
    const double seconds = r.ms * 1e-3;
    fmt::print("{:>9.4f} {:>6.2f} {:>9.1f} {:>8.2f} {:>5}  {:<18} {:<10} {}  {}\n", r.ms,
               100 * r.ms / total,
               seconds > 0 ? 2e-9 * r.times * static_cast<double>(r.event.macs) / seconds : 0,
               seconds > 0 ? 1e-9 * r.times * static_cast<double>(r.event.bytes) / seconds : 0,
               r.event.tiles, r.event.op, r.event.kernel, r.event.node, r.event.shapes);
  }
  fmt::print("{:>9.4f} 100.00  sum over {} nodes\n", total, sorted.size());
}

struct Timed {
  double first_run_ms = 0, cpu_ms_per_run = 0;
  PlanTimes planning;  // part of the first run
  std::vector<double> ms;
  std::vector<RunTrace> traces;
};

// A first run, then the rest of the warm-up, then the timed runs, then (for --ops) a few traced
// ones. The first run is part of the warm-up. Inputs are made outside the clock.
Result<Timed> time_runs(const Options& options, const Model& model, Session& session,
                        SymbolValues& values) {
  std::size_t cycle = 1;
  for (const auto& [name, list] : values) cycle = std::max(cycle, list.size());
  std::vector<Inputs> inputs;  // one for each combination that occurs, up to a limit of memory that
                               // a person expects
  for (std::size_t i = 0; i < std::min<std::size_t>(cycle, static_cast<std::size_t>(std::max(
                                                               options.runs, options.warmup))) ||
                          i == 0;
       ++i) {
    auto made = make_inputs(options, model, session, values, i);
    if (!made) return tl::unexpected(made.error());
    inputs.push_back(std::move(*made));
  }
  Timed timed;
  const auto run = [&](std::size_t i, RunTrace* trace) -> Result<double> {
    const auto views = inputs[i % inputs.size()].views();
    const std::int64_t start = now_ns();
    auto outputs = session.run(views, trace);
    const std::int64_t end = now_ns();
    if (!outputs) return tl::unexpected(outputs.error());
    return static_cast<double>(end - start) * 1e-6;
  };
  Progress progress("bench", static_cast<std::size_t>(options.warmup + options.runs));
  for (int i = 0; i < std::max(1, options.warmup); ++i) {
    auto ms = run(static_cast<std::size_t>(i), nullptr);
    if (!ms) return tl::unexpected(ms.error());
    if (i == 0) {
      timed.first_run_ms = *ms;
      timed.planning = session.plan_times();
    }
    progress.step();
  }
  const double cpu = cpu_ms();
  for (int i = 0; i < options.runs; ++i) {
    auto ms = run(static_cast<std::size_t>(i), nullptr);
    if (!ms) return tl::unexpected(ms.error());
    timed.ms.push_back(*ms);
    progress.step();
  }
  timed.cpu_ms_per_run = (cpu_ms() - cpu) / options.runs;
  for (int i = 0; options.ops && i < std::min(options.runs, 10); ++i) {
    timed.traces.emplace_back();
    if (auto ms = run(0, &timed.traces.back()); !ms) return tl::unexpected(ms.error());
  }
  return timed;
}

}  // namespace

Status bench_command(const Options& options) {
  const std::int64_t start = now_ns();
  auto model = Model::load(options.model, options.load);
  if (!model) return tl::unexpected(model.error());
  const CacheWarning warning(*model);
  auto session = Session::create(*model, options.session);
  if (!session) return tl::unexpected(session.error());
  const double load_ms = static_cast<double>(now_ns() - start) * 1e-6;
  auto values = symbol_values(options, *model, kMaxValues);
  if (!values) return tl::unexpected(values.error());
  auto timed = time_runs(options, *model, *session, *values);
  if (!timed) return tl::unexpected(timed.error());
  const std::int64_t rss = peak_rss_bytes();
  auto plan = session->plan(dims_of_run(*values, 0));
  if (!plan) return tl::unexpected(plan.error());

  const nlohmann::json latency = latency_json(timed->ms);
  const LoadTimes& load = model->load_times();
  nlohmann::json json = {{"model", options.model},
                         {"scheduler", scheduler_name(options.session.scheduler)},
                         {"threads", session->threads()},
                         {"precision", precision_name(options.session.precision)},
                         {"load_ms", load_ms},
                         {"load_split_ms",
                          {{"map", load.map},
                           {"parse", load.parse},
                           {"passes", load.passes},
                           {"plan", timed->planning.plan},
                           {"pack", timed->planning.pack}}},
                         {"first_run_ms", timed->first_run_ms},
                         {"latency_ms", latency},
                         {"peak_rss_bytes", rss},
                         {"arena_bytes", arena_json(plan->arena_bytes)},
                         {"peak_arena_bytes", session->peak_arena_bytes()},
                         {"plan_cache_bytes", session->plan_cache_bytes()},
                         {"memory_budget", budget_json(options.session.budget, *plan)},
                         {"packed_weight_bytes", plan->packed_weight_bytes},
                         {"cache", cache_json(model->cache())},
                         {"cpu_ms_per_run", timed->cpu_ms_per_run}};
  const std::vector<OpRow> ops = op_rows(timed->traces);
  if (options.ops) json["ops"] = ops_json(ops);
  if (options.json != "-") {
    fmt::print("{}: {} runs, {} scheduler, {} threads, {}\n", options.model, options.runs,
               scheduler_name(options.session.scheduler), session->threads(),
               precision_name(options.session.precision));
    fmt::print(
        "latency ms   min {:.3f}  median {:.3f}  mean {:.3f}  p90 {:.3f}  p99 {:.3f}  max {:.3f}\n",
        latency["min"].get<double>(), latency["median"].get<double>(),
        latency["mean"].get<double>(), latency["p90"].get<double>(), latency["p99"].get<double>(),
        latency["max"].get<double>());
    fmt::print(
        "load {:.1f} ms (map {:.1f}, parse {:.1f}, passes {:.1f}), first run {:.1f} ms (plan "
        "{:.1f}, "
        "pack {:.1f}), CPU {:.1f} ms a run\n",
        load_ms, load.map, load.parse, load.passes, timed->first_run_ms, timed->planning.plan,
        timed->planning.pack, timed->cpu_ms_per_run);
    fmt::print(
        "memory       resident at most {}, activations and scratch at most {} (budget {}), packed "
        "weights {}, plans {}\n",
        format_bytes(rss), format_bytes(session->peak_arena_bytes()),
        budget_text(options.session.budget, *plan), format_bytes(plan->packed_weight_bytes),
        format_bytes(session->plan_cache_bytes()));
    if (options.ops) print_ops(ops);
  }
  return options.json.empty() ? Status{} : write_json(options.json, json);
}

}  // namespace parallax::cli
