#include "csv.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "base/status.h"

namespace parallax {
namespace {

enum Column : std::size_t { kLower, kUpper, kSize, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"lower", "upper", "size"};
constexpr std::array<std::string_view, 4> kConstraints = {"alignment", "gaps", "offset", "hint"};

using Fields = std::vector<std::string_view>;

tl::unexpected<Error> wrong(std::string message) {
  return tl::unexpected(Error{Stage::kFiles, ErrorCode::kInvalidInput, "", std::move(message)});
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

Fields split(std::string_view line) {
  Fields fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

struct Header {
  std::array<std::size_t, kColumns> at{};
  std::vector<std::pair<std::string_view, std::size_t>> constraints;
  std::size_t fields = 0;
};

Result<Header> parse_header(std::string_view line) {
  const Fields fields = split(line);
  Header header;
  header.fields = fields.size();
  for (std::size_t c = 0; c < kColumns; ++c) {
    std::optional<std::size_t> found;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f] != kNames[c]) continue;
      if (found) return wrong(fmt::format("line 1 names the column '{}' twice", kNames[c]));
      found = f;
    }
    if (!found) return wrong(fmt::format("line 1 names no column '{}'", kNames[c]));
    header.at[c] = *found;
  }
  for (std::string_view name : kConstraints) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f] == name) header.constraints.emplace_back(name, f);
    }
  }
  return header;
}

Result<PackingBuffer> parse_row(const Header& header, std::string_view line, std::size_t number) {
  const Fields fields = split(line);
  if (fields.size() != header.fields) {
    return wrong(
        fmt::format("line {} has {} fields, line 1 has {}", number, fields.size(), header.fields));
  }
  std::array<std::int64_t, kColumns> value{};
  for (std::size_t c = 0; c < kColumns; ++c) {
    const auto parsed = integer(fields[header.at[c]]);
    if (!parsed) return wrong(fmt::format("line {}: '{}' is no 64-bit integer", number, kNames[c]));
    value[c] = *parsed;
  }
  for (const auto& [name, f] : header.constraints) {
    const bool free = fields[f].empty() || (name == "alignment" && fields[f] == "1");
    if (!free) return wrong(fmt::format("line {}: '{}' is not supported", number, name));
  }
  if (value[kUpper] < value[kLower]) {
    return wrong(
        fmt::format("line {}: upper {} is below lower {}", number, value[kUpper], value[kLower]));
  }
  if (value[kSize] < 0) return wrong(fmt::format("line {}: size {}", number, value[kSize]));
  return PackingBuffer{value[kLower], value[kUpper], value[kSize]};
}

}  // namespace

Result<std::vector<PackingBuffer>> parse_packing_csv(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::optional<Header> header;
  std::vector<PackingBuffer> buffers;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!header) {
      PX_ASSIGN(header, parse_header(line));
    } else if (!line.empty()) {
      PX_ASSIGN(const PackingBuffer buffer, parse_row(*header, line, number));
      buffers.push_back(buffer);
    }
  }
  if (!header) return wrong("the file is empty");
  return buffers;
}

}  // namespace parallax
