#include "partition/profile_toml.h"

#include <fmt/core.h>
#include <safe_toml.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/mapped_file.h"
#include "base/status.h"
#include "ops/op.h"

namespace parallax {
namespace {

constexpr std::size_t kMaxFileBytes = 1U << 20;
constexpr double kMaxRate = 1e30;  // per second
constexpr double kMaxSeconds = 1e6;
constexpr std::int64_t kMaxCores = 1024;

/// Where errors of one file go: the first one is kept.
class Report {
 public:
  explicit Report(std::string_view file) : file_(file) {}

  void add(const toml::source_region& where, std::string_view message) {
    if (!message_.empty()) return;
    message_ = fmt::format("{}:{}: {}", file_, where.begin.line, message);
  }
  Status status() const {
    if (message_.empty()) return {};
    return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, "", message_});
  }

 private:
  std::string_view file_;
  std::string message_;
};

struct Range {
  double min, max;
};
constexpr Range kRate{1e-30, kMaxRate};
constexpr Range kHertz{1, 1e12};

/// Reads the keys of one table; call finish() at the end: it refuses keys that were not asked
/// for.
class TableReader {
 public:
  TableReader(const toml::table& table, Report& report) : table_(table), report_(report) {}

  bool has(std::string_view key) const { return table_.contains(key); }

  double number(std::string_view key, Range range) {
    const toml::node* node = require(key);
    const auto value = node == nullptr ? std::nullopt : node->value<double>();
    if (node == nullptr) return range.min;
    const bool is_number = node->is_integer() || node->is_floating_point();
    if (is_number && value && std::isfinite(*value) && *value >= range.min && *value <= range.max) {
      return *value;
    }
    report_.add(node->source(),
                fmt::format("'{}' must be a number from {:g} to {:g}", key, range.min, range.max));
    return range.min;
  }
  double number(std::string_view key, Range range, double fallback) {
    return has(key) ? number(key, range) : absent(key, fallback);
  }
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max) {
    const toml::node* node = require(key);
    if (node == nullptr) return min;
    const auto* value = node->as_integer();
    if (value != nullptr && value->get() >= min && value->get() <= max) return value->get();
    report_.add(node->source(),
                fmt::format("'{}' must be an integer from {} to {}", key, min, max));
    return min;
  }
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max,
                       std::int64_t fallback) {
    return has(key) ? integer(key, min, max) : absent(key, fallback);
  }
  bool flag(std::string_view key) {
    if (!has(key)) return absent(key, false);
    const toml::node* node = require(key);
    const auto* value = node->as_boolean();
    if (value == nullptr)
      report_.add(node->source(), fmt::format("'{}' must be true or false", key));
    return value != nullptr && value->get();
  }
  std::string text(std::string_view key) {
    const toml::node* node = require(key);
    if (node == nullptr) return "";
    const auto* value = node->as_string();
    if (value != nullptr && !value->get().empty()) return value->get();
    report_.add(node->source(), fmt::format("'{}' must be a text", key));
    return "";
  }
  /// Texts of an array, each with where it stands; empty where the key is absent.
  std::vector<std::pair<std::string, toml::source_region>> texts(std::string_view key) {
    std::vector<std::pair<std::string, toml::source_region>> result;
    if (!has(key)) return absent(key, result);
    const toml::node* node = require(key);
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      report_.add(node->source(), fmt::format("'{}' must be a list of texts", key));
      return result;
    }
    for (const toml::node& item : *array) {
      const auto* value = item.as_string();
      if (value == nullptr) {
        report_.add(item.source(), fmt::format("'{}' must be a list of texts", key));
        return result;
      }
      result.emplace_back(value->get(), item.source());
    }
    return result;
  }
  /// Null where the key is absent or, with an error, no table.
  const toml::table* table(std::string_view key) {
    if (!has(key)) return absent(key, nullptr);
    const toml::node* node = require(key);
    if (!node->is_table()) report_.add(node->source(), fmt::format("'{}' must be a table", key));
    return node->as_table();
  }
  const toml::array* tables(std::string_view key) {
    if (!has(key)) return absent(key, nullptr);
    const toml::node* node = require(key);
    const toml::array* array = node->as_array();
    if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
      report_.add(node->source(), fmt::format("'{}' must be a list of tables", key));
      return nullptr;
    }
    return array;
  }
  void finish() {
    for (const auto& [key, node] : table_) {
      if (asked_.contains(key.str())) continue;
      report_.add(key.source(), fmt::format("key '{}' is not known", key.str()));
    }
  }

 private:
  template <class T>
  T absent(std::string_view key, T fallback) {
    asked_.emplace(key);
    return fallback;
  }
  const toml::node* require(std::string_view key) {
    asked_.emplace(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) report_.add(table_.source(), fmt::format("'{}' is missing", key));
    return node;
  }

  const toml::table& table_;
  Report& report_;
  std::set<std::string, std::less<>> asked_;
};

std::vector<DType> read_dtypes(TableReader& reader, Report& report) {
  std::vector<DType> dtypes;
  for (const auto& [name, where] : reader.texts("dtypes")) {
    if (const auto dtype = dtype_from_text(name)) {
      dtypes.push_back(*dtype);
    } else {
      report.add(where, fmt::format("'{}' is no element type", name));
    }
  }
  return dtypes;
}

std::vector<AttributeLimit> read_attributes(const toml::table& table, OpKind op, Report& report) {
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
    constexpr Range kAny{-1e18, 1e18};
    if (reader.has("min")) limit.min = reader.number("min", kAny);
    if (reader.has("max")) limit.max = reader.number("max", kAny);
    for (auto& [text, where] : reader.texts("one_of")) limit.one_of.push_back(text);
    reader.finish();
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::optional<OpKind> read_op(std::string_view name, const toml::source_region& where,
                              Report& report) {
  const auto op = op_from_string(name);
  if (!op) report.add(where, fmt::format("'{}' is no operator", name));
  return op;
}

/// `operators` and `bridges` say what can run, with the delegate's own dtypes and rank;
/// `limits.NAME` narrows or widens single ones.
void read_operators(TableReader& reader, Report& report, Delegate& delegate) {
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

Delegate read_delegate(const toml::table& table, Report& report) {
  TableReader reader(table, report);
  Delegate delegate;
  delegate.name = reader.text("name");
  delegate.launch_seconds = reader.number("launch_seconds", {0, kMaxSeconds});
  delegate.macs_per_second = reader.number("macs_per_second", kRate);
  delegate.bytes_per_second = reader.number("bytes_per_second", kRate);
  delegate.cpu_macs_per_second = reader.number("cpu_macs_per_second", kRate);
  delegate.memory_bytes = reader.integer("memory_bytes", 0, INT64_MAX);
  read_operators(reader, report, delegate);
  reader.finish();
  return delegate;
}

/// Of cores that are described by how they are built.
void speeds_of_peaks(std::vector<CoreClass>& cores) {
  double most = 0;
  for (const CoreClass& core : cores) most = std::max(most, core_of(core.peaks).macs_per_second);
  for (CoreClass& core : cores)
    if (most > 0) core.relative_speed = core_of(core.peaks).macs_per_second / most;
}

std::vector<CoreClass> read_cores(const toml::array* array, Report& report) {
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

std::vector<NodeSample> read_samples(const toml::array* array, Report& report) {
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
    sample.seconds = reader.number("seconds", {0, kMaxSeconds});
    reader.finish();
    samples.push_back(std::move(sample));
  }
  return samples;
}

CpuRates read_cpu(const toml::table& table, Report& report) {
  TableReader reader(table, report);
  CpuRates cpu;
  cpu.macs_per_second = reader.number("macs_per_second", kRate, 0);
  cpu.bytes_per_second = reader.number("bytes_per_second", kRate);
  cpu.cache_bytes = reader.integer("cache_bytes", 0, INT64_MAX);
  cpu.node_seconds = reader.number("node_seconds", {0, kMaxSeconds});
  cpu.share_seconds = reader.number("share_seconds", {0, kMaxSeconds});
  cpu.samples = read_samples(reader.tables("samples"), report);
  reader.finish();
  return cpu;
}

/// Parses TOML and hands its table to `read`.
template <class T, class Read>
Result<T> parse(std::string_view text, std::string_view file, Read read) {
  Report report(file);
  if (text.size() > kMaxFileBytes) {
    report.add({}, fmt::format("larger than {} bytes", kMaxFileBytes));
    return tl::unexpected(report.status().error());
  }
  // Without the file's name: the parser copies it where it may not throw. The report has it.
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    report.add(parsed.error().source(), parsed.error().description());
    return tl::unexpected(report.status().error());
  }
  TableReader reader(parsed.table(), report);
  T result = read(reader, report);
  reader.finish();
  PX_RETURN_IF_ERROR(report.status());
  return result;
}

template <class T>
Result<T> load(const std::filesystem::path& path,
               Result<T> (*parse_text)(std::string_view, std::string_view)) {
  PX_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return parse_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace

Result<DeviceProfile> parse_profile(std::string_view text, std::string_view file) {
  return parse<DeviceProfile>(text, file, [](TableReader& reader, Report& report) {
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
  return parse<Calibration>(text, file, [](TableReader& reader, Report& report) {
    Calibration calibration;
    if (reader.has("launch_seconds")) {
      calibration.launch_seconds = reader.number("launch_seconds", {0, kMaxSeconds});
    }
    if (reader.has("bytes_per_second")) {
      calibration.bytes_per_second = reader.number("bytes_per_second", kRate);
    }
    const toml::table* rates = reader.table("rates");
    if (rates == nullptr) return calibration;
    for (const auto& [key, node] : *rates) {
      const auto op = read_op(key.str(), key.source(), report);
      const toml::table* table = node.as_table();
      if (table == nullptr) report.add(key.source(), "a rate must be a table");
      if (!op || table == nullptr) continue;
      TableReader entry(*table, report);
      OpRate rate;
      rate.delegate = entry.number("delegate", kRate);
      rate.cpu = entry.number("cpu", kRate);
      entry.finish();
      calibration.rates.emplace(*op, rate);
    }
    return calibration;
  });
}

Result<DeviceProfile> load_profile(const std::filesystem::path& path) {
  return load<DeviceProfile>(path, parse_profile);
}

Result<Calibration> load_calibration(const std::filesystem::path& path) {
  return load<Calibration>(path, parse_calibration);
}

}  // namespace parallax
