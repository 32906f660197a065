#include "device/profile_toml.h"

#include <fmt/core.h>
#include <safe_toml.h>

#include <algorithm>

#include "base/status.h"
#include "device/toml_reader.h"
#include "ops/op.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxCores = 1024;
constexpr TomlRange kHertz{1, 1e12};

std::vector<DType> read_dtypes(TableReader& reader, TomlReport& report) {
  std::vector<DType> dtypes;
  for (const auto& [name, where] : reader.texts("dtypes")) {
    if (const auto dtype = dtype_from_text(name)) {
      dtypes.push_back(*dtype);
    } else {
      report.add(where, fmt::format("'{}' is not an element type", name));
    }
  }
  return dtypes;
}

std::vector<AttributeLimit> read_attributes(const toml::table& table, OpKind op,
                                            TomlReport& report) {
  std::vector<AttributeLimit> limits;
  const auto& specs = op_def(op).attributes;
  for (const auto& [key, node] : table) {
    const bool known = std::any_of(specs.begin(), specs.end(), [&, &name = key](const auto& spec) {
      return spec.name == name.str();
    });
    const toml::table* entry = node.as_table();
    if (!known || entry == nullptr) {
      report.add(key.source(),
                 known ? fmt::format("'{}' must be a table", key.str())
                       : fmt::format("{} has no attribute '{}'", to_string(op), key.str()));
      continue;
    }
    TableReader reader(*entry, report);
    AttributeLimit limit;
    limit.name = key.str();
    constexpr TomlRange kAny{-1e18, 1e18};
    if (reader.has("min")) limit.min = reader.number("min", kAny);
    if (reader.has("max")) limit.max = reader.number("max", kAny);
    for (auto& [text, where] : reader.texts("one_of")) limit.one_of.push_back(text);
    reader.finish();
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::optional<OpKind> read_op(std::string_view name, const toml::source_region& where,
                              TomlReport& report) {
  const auto op = op_from_string(name);
  if (!op) report.add(where, fmt::format("'{}' is not an operator", name));
  return op;
}

/// Reads operators: `operators` and `bridges` list what can run, with the delegate's own dtypes and
/// rank; `limits.NAME` overrides them for one operator.
void read_operators(TableReader& reader, TomlReport& report, Delegate& delegate) {
  OperatorLimits common;
  common.dtypes = read_dtypes(reader, report);
  common.max_rank = static_cast<int>(reader.integer("max_rank", 0, Dims::kMaxRank, Dims::kMaxRank));
  for (const std::string_view key : {"operators", "bridges"}) {
    common.bridge = key == "bridges";
    for (const auto& [name, where] : reader.texts(key)) {
      const auto op = read_op(name, where, report);
      if (op && !delegate.operators.emplace(*op, common).second) {
        report.add(where, fmt::format("'{}' stands here twice", name));
      }
    }
  }
  const toml::table* limits = reader.table("limits");
  if (limits == nullptr) return;
  for (const auto& [key, node] : *limits) {
    const auto op = read_op(key.str(), key.source(), report);
    const auto found = op ? delegate.operators.find(*op) : delegate.operators.end();
    const toml::table* table = node.as_table();
    if (found == delegate.operators.end() || table == nullptr) {
      report.add(
          key.source(),
          fmt::format("limits of '{}', which is not among the operators, or no table", key.str()));
      continue;
    }
    TableReader entry(*table, report);
    if (entry.has("dtypes")) found->second.dtypes = read_dtypes(entry, report);
    found->second.max_rank =
        static_cast<int>(entry.integer("max_rank", 0, Dims::kMaxRank, found->second.max_rank));
    found->second.slowdown = entry.number("slowdown", {1, kMaxRate}, 1);
    if (const toml::table* attributes = entry.table("attributes")) {
      found->second.attributes = read_attributes(*attributes, *op, report);
    }
    entry.finish();
  }
}

/// Returns whether `images` has channels last; canonical graphs have them first.
bool read_images(TableReader& reader, const toml::table& table, TomlReport& report) {
  if (!reader.has("images")) return false;
  const std::string images = reader.text("images");
  if (!images.empty() && images != "channels_first" && images != "channels_last")
    report.add(table.source(), fmt::format("'{}' is not an order of images", images));
  return images == "channels_last";
}

Delegate read_delegate(const toml::table& table, TomlReport& report) {
  TableReader reader(table, report);
  Delegate delegate;
  delegate.name = reader.text("name");
  delegate.launch_seconds = reader.number("launch_seconds", {0, kMaxTomlSeconds});
  delegate.macs_per_second = reader.number("macs_per_second", kTomlRate);
  delegate.bytes_per_second = reader.number("bytes_per_second", kTomlRate);
  delegate.cpu_macs_per_second = reader.number("cpu_macs_per_second", kTomlRate);
  delegate.memory_bytes = reader.integer("memory_bytes", 0, INT64_MAX);
  delegate.channels_last = read_images(reader, table, report);
  delegate.dynamic_shapes = reader.flag("dynamic_shapes");
  read_operators(reader, report, delegate);
  reader.finish();
  return delegate;
}

/// Computes relative speeds of cores that are described by their structure.
void speeds_of_peaks(std::vector<CoreClass>& cores) {
  double most = 0;
  for (const CoreClass& core : cores) most = std::max(most, core_of(core.peaks).macs_per_second);
  for (CoreClass& core : cores)
    if (most > 0) core.relative_speed = core_of(core.peaks).macs_per_second / most;
}

std::vector<CoreClass> read_cores(const toml::array* array, TomlReport& report) {
  std::vector<CoreClass> cores;
  if (array == nullptr) return cores;
  for (const toml::node& node : *array) {
    TableReader reader(*node.as_table(), report);
    CoreClass core;
    core.name = reader.text("name");
    core.count = static_cast<int>(reader.integer("count", 1, kMaxCores));
    const bool built = reader.has("macs_per_cycle");
    core.peaks.hertz = built ? reader.number("hertz", kHertz) : reader.number("hertz", kHertz, 0);
    if (built) {
      core.peaks.macs_per_cycle = reader.number("macs_per_cycle", {1e-3, 1e6});
      core.peaks.bytes_per_cycle = reader.number("bytes_per_cycle", {1e-3, 1e6});
    } else {
      core.relative_speed = reader.number("relative_speed", {1e-6, 1});
    }
    reader.finish();
    if (!cores.empty() && built != (cores.front().peaks.macs_per_cycle > 0))
      report.add(node.source(),
                 "'macs_per_cycle' must be given for every kind of core, or for none");
    cores.push_back(std::move(core));
  }
  speeds_of_peaks(cores);
  return cores;
}

std::vector<NodeSample> read_samples(const toml::array* array, TomlReport& report) {
  std::vector<NodeSample> samples;
  if (array == nullptr) return samples;
  for (const toml::node& node : *array) {
    TableReader reader(*node.as_table(), report);
    NodeSample sample;
    sample.op = reader.text("op");
    sample.kernel = reader.text("kernel");
    sample.shapes = reader.text("shapes");
    sample.macs = reader.number("macs", {0, kMaxRate});
    sample.bytes = reader.number("bytes", {0, kMaxRate});
    sample.seconds = reader.number("seconds", {0, kMaxTomlSeconds});
    reader.finish();
    samples.push_back(std::move(sample));
  }
  return samples;
}

CpuRates read_cpu(const toml::table& table, TomlReport& report) {
  TableReader reader(table, report);
  CpuRates cpu;
  cpu.macs_per_second = reader.number("macs_per_second", kTomlRate, 0);
  cpu.bytes_per_second = reader.number("bytes_per_second", kTomlRate);
  cpu.cache_bytes = reader.integer("cache_bytes", 0, INT64_MAX);
  cpu.node_seconds = reader.number("node_seconds", {0, kMaxTomlSeconds});
  cpu.share_seconds = reader.number("share_seconds", {0, kMaxTomlSeconds});
  cpu.samples = read_samples(reader.tables("samples"), report);
  reader.finish();
  return cpu;
}

std::map<OpKind, OpRate> read_rates(const toml::table& table, TomlReport& report) {
  std::map<OpKind, OpRate> rates;
  for (const auto& [key, node] : table) {
    const auto op = read_op(key.str(), key.source(), report);
    const toml::table* row = node.as_table();
    if (row == nullptr) report.add(key.source(), "a rate must be a table");
    if (!op || row == nullptr) continue;
    TableReader entry(*row, report);
    OpRate rate;
    rate.delegate = entry.number("delegate", kTomlRate);
    rate.cpu = entry.number("cpu", kTomlRate);
    entry.finish();
    rates.emplace(*op, rate);
  }
  return rates;
}

/// Seconds that something took.
constexpr TomlRange kTook{1e-12, kMaxTomlSeconds};

std::vector<WorkSample> read_work(const toml::array* array, TomlReport& report) {
  std::vector<WorkSample> samples;
  if (array == nullptr) return samples;
  for (const toml::node& node : *array) {
    TableReader reader(*node.as_table(), report);
    WorkSample sample;
    const std::string kind = reader.text("kind");
    if (const auto known = work_kind_from_string(kind)) {
      sample.kind = *known;
    } else {
      report.add(node.source(), fmt::format("'{}' is not a kind of work", kind));
    }
    sample.predicted = reader.number("predicted", kTook);
    sample.cpu = reader.number("cpu", kTook);
    sample.delegate = reader.number("delegate", kTook);
    reader.finish();
    samples.push_back(sample);
  }
  return samples;
}

std::vector<RegionSample> read_regions(const toml::array* array, TomlReport& report) {
  std::vector<RegionSample> regions;
  if (array == nullptr) return regions;
  for (const toml::node& node : *array) {
    TableReader reader(*node.as_table(), report);
    RegionSample region;
    // A number of 64 bits, as TOML has them.
    region.key = static_cast<std::uint64_t>(reader.integer("key", INT64_MIN, INT64_MAX));
    region.node = reader.text("node");
    region.predicted = reader.number("predicted", kTook);
    region.seconds = reader.number("seconds", kTook);
    reader.finish();
    regions.push_back(std::move(region));
  }
  return regions;
}

std::vector<SplitSample> read_splits(const toml::array* array, TomlReport& report) {
  std::vector<SplitSample> splits;
  if (array == nullptr) return splits;
  for (const toml::node& node : *array) {
    TableReader reader(*node.as_table(), report);
    SplitSample split;
    split.key = static_cast<std::uint64_t>(reader.integer("key", INT64_MIN, INT64_MAX));
    split.share = static_cast<int>(reader.integer("share", 1, kShares - 1));
    split.seconds = reader.number("seconds", kTook);
    reader.finish();
    splits.push_back(split);
  }
  return splits;
}

}  // namespace

Result<DeviceProfile> parse_profile(std::string_view text, std::string_view file) {
  return parse_toml<DeviceProfile>(text, file, [](TableReader& reader, TomlReport& report) {
    DeviceProfile profile;
    profile.name = reader.text("name");
    if (reader.has("source")) profile.source = reader.text("source");
    profile.memory_bytes = reader.integer("memory_bytes", 0, INT64_MAX, 0);
    profile.cores = read_cores(reader.tables("cores"), report);
    if (const toml::table* cpu = reader.table("cpu")) {
      profile.cpu = read_cpu(*cpu, report);
      const bool built = !profile.cores.empty() && profile.cores.front().peaks.macs_per_cycle > 0;
      if (built && profile.cpu.macs_per_second > 0)
        report.add(cpu->source(), "the cores have 'macs_per_cycle': 'macs_per_second' must go");
    }
    if (const toml::table* delegate = reader.table("delegate")) {
      profile.delegate = read_delegate(*delegate, report);
    }
    return profile;
  });
}

Result<Calibration> parse_calibration(std::string_view text, std::string_view file) {
  return parse_toml<Calibration>(text, file, [](TableReader& reader, TomlReport& report) {
    Calibration calibration;
    if (reader.has("launch_seconds")) {
      calibration.launch_seconds = reader.number("launch_seconds", {0, kMaxTomlSeconds});
    }
    if (reader.has("bytes_per_second")) {
      calibration.bytes_per_second = reader.number("bytes_per_second", kTomlRate);
    }
    if (const toml::table* rates = reader.table("rates"))
      calibration.rates = read_rates(*rates, report);
    calibration.samples = read_work(reader.tables("samples"), report);
    calibration.regions = read_regions(reader.tables("regions"), report);
    calibration.splits = read_splits(reader.tables("splits"), report);
    return calibration;
  });
}

Result<DeviceProfile> load_profile(const std::filesystem::path& path) {
  return load_toml<DeviceProfile>(path, parse_profile);
}

Result<Calibration> load_calibration(const std::filesystem::path& path) {
  return load_toml<Calibration>(path, parse_calibration);
}

}  // namespace parallax
