// `parallax calibrate`: times the nodes of a model on one core of this machine and writes them as a
// profile that `parallax simulate` reads. Called with one model after the other it collects.
#include <fmt/core.h>
#include <safe_toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

#include "files/files.h"
#include "inputs/inputs.h"
#include "parallax/model.h"
#include "parallax/planner.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

constexpr int kWarmup = 3;
constexpr int kRuns = 9;
/// Until another core takes tiles of a node: the handover of a cache line or two.
constexpr double kShareSeconds = 1e-6;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Error fault(std::string message) {
  return {Stage::kFiles, ErrorCode::kInvalidInput, {}, std::move(message)};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

struct Sample {
  NodeEvent node;
  std::vector<double> seconds;
};

struct NodeTimes {
  std::map<std::string, Sample> samples;  // keyed by op, kernel and shapes
  double node_seconds = 0;
};

/// Seconds of each different node, on one core, and the overhead of a run per node.
Result<NodeTimes> measure(const Options& options) {
  Options one = options;
  one.session.threads = 1;
  one.session.scheduler = Scheduler::kSequential;
  auto opened = open_model(one);
  if (!opened) return tl::unexpected(opened.error());
  Session& session = opened->session;
  auto inputs = make_inputs(options, opened->model, session, opened->values);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto views = inputs->views();
  NodeTimes measured;
  std::vector<double> overhead;
  for (int run = 0; run < kWarmup + kRuns; ++run) {
    RunTrace trace;
    std::int64_t start = now_ns();
    if (auto outputs = session.run(views); !outputs) return tl::unexpected(outputs.error());
    const auto whole = static_cast<double>(now_ns() - start) * 1e-9;
    if (auto outputs = session.run(views, {.trace = &trace}); !outputs)
      return tl::unexpected(outputs.error());
    if (run < kWarmup) continue;
    double sum = 0;
    for (NodeEvent& node : trace.nodes) {
      const double seconds = static_cast<double>(node.end_ns - node.start_ns) * 1e-9;
      sum += seconds;
      Sample& sample = measured.samples[fmt::format("{} {} {}", node.op, node.kernel, node.shapes)];
      sample.seconds.push_back(seconds);
      sample.node = std::move(node);
    }
    if (!trace.nodes.empty())
      overhead.push_back((whole - sum) / static_cast<double>(trace.nodes.size()));
  }
  measured.node_seconds = std::max(0.0, median(overhead));
  return measured;
}

/// Bytes per second that all cores together read from memory.
double memory_rate(int threads, std::int64_t cache_bytes) {
  const auto words =
      static_cast<std::size_t>(std::clamp(4 * cache_bytes, 64 * kMiB, 256 * kMiB) / 8);
  std::vector<std::uint64_t> data(words, 1);
  const std::size_t part = words / static_cast<std::size_t>(threads);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::int64_t start = now_ns();
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < sums.size(); ++t) {
      workers.emplace_back([&, t] {
        sums[t] += std::reduce(data.begin() + static_cast<std::ptrdiff_t>(t * part),
                               data.begin() + static_cast<std::ptrdiff_t>((t + 1) * part),
                               std::uint64_t{0}, std::bit_xor{});
      });
    }
    for (std::thread& worker : workers) worker.join();
    const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
    best = std::max(best, 8.0 * static_cast<double>(part * sums.size()) / seconds);
  }
  return sums.front() == ~std::uint64_t{0} ? 0 : best;  // the sums are used: no read is left out
}

toml::table new_profile(int cores) {
  const std::int64_t cache = inspect_machine().last_bytes;
  return toml::table{{"name", "this machine"},
                     {"source", "timed by `parallax calibrate`, on one core of this machine"},
                     {"cores", toml::array{toml::table{
                                   {"name", "core"}, {"count", cores}, {"relative_speed", 1.0}}}},
                     {"cpu", toml::table{{"macs_per_second", 0.0},
                                         {"bytes_per_second", memory_rate(cores, cache)},
                                         {"cache_bytes", cache},
                                         {"node_seconds", 0.0},
                                         {"share_seconds", kShareSeconds},
                                         {"samples", toml::array{}}}}};
}

/// Puts what was measured in the place of samples of the same node, behind those of others.
void merge(toml::table& cpu, const NodeTimes& measured) {
  toml::array& samples = *cpu["samples"].as_array();
  std::map<std::string, const Sample*> fresh;
  for (const auto& [key, sample] : measured.samples) fresh.emplace(key, &sample);
  for (auto it = samples.begin(); it != samples.end();) {
    toml::table& row = *it->as_table();
    const auto text = [&](const char* key) { return row[key].value_or(std::string()); };
    const bool replaced =
        fresh.contains(fmt::format("{} {} {}", text("op"), text("kernel"), text("shapes")));
    it = replaced ? samples.erase(it) : it + 1;
  }
  for (const auto& [key, sample] : fresh) {
    toml::table row{{"op", sample->node.op},
                    {"kernel", sample->node.kernel},
                    {"shapes", sample->node.shapes},
                    {"macs", static_cast<double>(sample->node.macs)},
                    {"bytes", static_cast<double>(sample->node.bytes)},
                    {"seconds", median(sample->seconds)}};
    row.is_inline(true);
    samples.push_back(std::move(row));
  }
  // The rate of all that was sampled, for kinds of nodes that were not.
  double macs = 0, seconds = 0;
  for (const toml::node& node : samples) {
    const toml::table& row = *node.as_table();
    if (row["macs"].value_or(0.0) <= 0) continue;
    macs += row["macs"].value_or(0.0);
    seconds += row["seconds"].value_or(0.0);
  }
  cpu.insert_or_assign("macs_per_second", seconds > 0 ? macs / seconds : 1e9);
  cpu.insert_or_assign("node_seconds", measured.node_seconds);
}

Status write_profile(const std::string& path, const toml::table& profile) {
  std::ostringstream text;
  text << "# Written by `parallax calibrate`.\n" << profile << "\n";
  return write_file(path, {text.str()});
}

}  // namespace

Status calibrate_command(const Options& options) {
  if (auto status = check_writable(options.profile); !status) return status;
  toml::table profile;
  if (std::filesystem::exists(options.profile)) {
    // Later commands must be able to read it: the library's own reader decides.
    if (auto cores = Planner::profile_cores(options.profile); !cores)
      return tl::unexpected(cores.error());
    std::ifstream file(options.profile, std::ios::binary);
    toml::parse_result parsed =
        parse_toml_text(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!parsed || !parsed.table()["cpu"]["samples"].is_array())
      return tl::unexpected(fault(fmt::format("{}: no samples to add to", options.profile)));
    profile = std::move(parsed).table();
  }
  auto measured = measure(options);
  if (!measured) return tl::unexpected(measured.error());
  if (profile.empty()) {
    SessionOptions all;
    auto model = load_model(options);
    if (!model) return tl::unexpected(model.error());
    auto session = Session::create(*model, all);
    if (!session) return tl::unexpected(session.error());
    profile = new_profile(session->threads());
  }
  merge(*profile["cpu"].as_table(), *measured);
  fmt::print("{}: {} different nodes timed on one core\n", options.model, measured->samples.size());
  return write_profile(options.profile, profile);
}

}  // namespace parallax::cli
