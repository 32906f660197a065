// Reads tables of TOML key by key, for profile_toml.cc and other files of the user: a key that is
// missing, unknown, of another type or out of range is an error that names file and line. Input is
// not trusted. Internal to the folders that read such files.
//
// Thread-compatible. Each object belongs to one call of parse_toml(), on its thread. A report and a
// reader keep references to the text's tables and to the file's name, which must outlive them.
#pragma once

#include <fmt/core.h>
#include <safe_toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/mapped_file.h"
#include "base/status.h"
#include "parallax/result.h"

namespace parallax {

/// Default limit on the size of a text: 1 MiB.
inline constexpr std::size_t kMaxTomlBytes = 1U << 20;
/// Limit of rates per second, in MAC or bytes, and of counts of both.
inline constexpr double kMaxRate = 1e30;
/// Limit of times, in seconds: about 12 days.
inline constexpr double kMaxTomlSeconds = 1e6;

/// Collects the errors of one file: only the first one is kept.
class TomlReport {
 public:
  /// `file` must outlive the report.
  explicit TomlReport(std::string_view file) : file_(file) {}

  /// Adds an error at a position in the file. Later errors are dropped, so call it for the most
  /// specific problem first. The message is "file:line: message"; lines count from 1, and line 0
  /// means that the error concerns the whole file.
  void add(const toml::source_region& where, std::string_view message) {
    if (!message_.empty()) return;
    message_ = fmt::format("{}:{}: {}", file_, where.begin.line, message);
  }
  /// Returns the first error: stage kPartition, code kInvalidInput. Success if add() was never
  /// called. The error has no node.
  Status status() const {
    if (message_.empty()) return {};
    return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, "", message_});
  }

 private:
  std::string_view file_;
  std::string message_;
};

/// Both ends are allowed.
struct TomlRange {
  double min, max;
};
/// The range of a rate per second.
inline constexpr TomlRange kTomlRate{1e-30, kMaxRate};

/// Reads the keys of one table. Call finish() at the end, which rejects keys that were not read.
/// Errors go to the report; the functions then return a valid default. Asking for a key twice is
/// allowed. Nested tables need readers of their own, with their own finish().
class TableReader {
 public:
  /// Both must outlive the reader.
  TableReader(const toml::table& table, TomlReport& report) : table_(table), report_(report) {}

  /// Returns whether the table has the key.
  bool has(std::string_view key) const { return table_.contains(key); }
  /// Marks a key as known; the caller reads it himself.
  void ask(std::string_view key) { asked_.emplace(key); }

  /// Read a value that must be within the range. Without a `fallback` the key is required. number()
  /// accepts integers and finite floats, and returns range.min after an error.
  double number(std::string_view key, TomlRange range) {
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
  double number(std::string_view key, TomlRange range, double fallback) {
    return has(key) ? number(key, range) : absent(key, fallback);
  }
  /// Reads an integer from `min` to `max`, both allowed; a float is an error, also a whole one.
  /// Returns `min` after an error.
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
  /// Reads true or false; false if the key is absent, which is no error.
  bool flag(std::string_view key) {
    if (!has(key)) return absent(key, false);
    const toml::node* node = require(key);
    const auto* value = node->as_boolean();
    if (value == nullptr)
      report_.add(node->source(), fmt::format("'{}' must be true or false", key));
    return value != nullptr && value->get();
  }
  /// Reads a required text, which must not be empty. Returns "" after an error.
  std::string text(std::string_view key) {
    const toml::node* node = require(key);
    if (node == nullptr) return "";
    const auto* value = node->as_string();
    if (value != nullptr && !value->get().empty()) return value->get();
    report_.add(node->source(), fmt::format("'{}' must be a text", key));
    return "";
  }
  /// Returns the texts of an array with their positions; empty if the key is absent. An item of
  /// another type is an error; the texts before it are returned. Texts may be empty and repeated:
  /// the caller checks that.
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
  /// Returns a nested table; null if the key is absent or, with an error, not a table. The result
  /// is valid while the parsed document is.
  const toml::table* table(std::string_view key) {
    if (!has(key)) return absent(key, nullptr);
    const toml::node* node = require(key);
    if (!node->is_table()) report_.add(node->source(), fmt::format("'{}' must be a table", key));
    return node->as_table();
  }
  /// Returns an array whose items are all tables, as [[key]] makes it; null if the key is absent
  /// or, with an error, anything else.
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
  /// Reports every key that was not read. Misspelt optional keys are thereby errors.
  void finish() {
    for (const auto& [key, node] : table_) {
      if (asked_.contains(key.str())) continue;
      report_.add(key.source(), fmt::format("key '{}' is not known", key.str()));
    }
  }

 private:
  template <class T>
  /// Marks the key as known, and returns the fallback.
  T absent(std::string_view key, T fallback) {
    asked_.emplace(key);
    return fallback;
  }
  /// Marks the key as known; null, with an error, if the table lacks it.
  const toml::node* require(std::string_view key) {
    asked_.emplace(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) report_.add(table_.source(), fmt::format("'{}' is missing", key));
    return node;
  }

  const toml::table& table_;
  TomlReport& report_;
  std::set<std::string, std::less<>> asked_;
};

/// Parses TOML and passes its table to `read`. Errors: kInvalidInput (stage kPartition) for invalid
/// TOML, for more than `max_bytes` bytes, and for errors that `read` reports. `read` gets the
/// reader of the outermost table and returns a T; its result is dropped if there was an error.
template <class T, class Read>
/// `read(reader, report)` runs on the calling thread and returns a T, also after errors, which
/// discard it. It need not call reader.finish(). `file` names the text in messages only. The size
/// is checked before parsing, so memory is bounded.
Result<T> parse_toml(std::string_view text, std::string_view file, Read read,
                     std::size_t max_bytes = kMaxTomlBytes) {
  TomlReport report(file);
  if (text.size() > max_bytes) {
    report.add({}, fmt::format("larger than {} bytes", max_bytes));
    return tl::unexpected(report.status().error());
  }
  // Without the file's name: the parser copies it where it may not throw. The report has it.
  const toml::parse_result parsed = parse_toml_text(text);
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

/// Parses a whole file with `parse_text`. Errors: those of `parse_text`; kIo if it cannot be read.
template <class T>
/// The file is mapped during the call only; the result must not refer to its text.
Result<T> load_toml(const std::filesystem::path& path,
                    Result<T> (*parse_text)(std::string_view, std::string_view)) {
  PX_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return parse_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

}  // namespace parallax
