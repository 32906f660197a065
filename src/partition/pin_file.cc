#include "partition/pin_file.h"

#include <fmt/format.h>

#include "device/toml_reader.h"

namespace parallax {
namespace {

constexpr std::string_view kEntry = "[[plans]]\n", kRegions = "regions = [", kEntryEnd = "\n]\n";

/// Lists of lists of names.
PinnedPlans::Regions read_pinned_regions(const toml::table& plan, TomlReport& report) {
  PinnedPlans::Regions regions;
  const toml::array* const list = plan["regions"].as_array();
  if (list == nullptr) {
    report.add(plan.source(), "'regions' must be a list of lists of names");
    return regions;
  }
  for (const toml::node& item : *list) {
    std::vector<std::string>& region = regions.emplace_back();
    const toml::array* const names = item.as_array();
    if (names == nullptr) report.add(item.source(), "a region must be a list of names");
    if (names == nullptr) continue;
    for (const toml::node& name : *names) {
      const auto* const text = name.as_string();
      if (text == nullptr) report.add(name.source(), "the name of a node must be a text");
      if (text != nullptr) region.push_back(text->get());
    }
  }
  return regions;
}

std::uint64_t read_key(TableReader& reader, std::string_view name) {
  return static_cast<std::uint64_t>(reader.integer(name, INT64_MIN, INT64_MAX));
}

/// Returns `text` as a basic string of TOML.
std::string pin_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += fmt::format("\\{}", c);
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

Result<PinnedPlans> parse_pins(std::string_view text, std::string_view file) {
  return parse_toml<PinnedPlans>(
      text, file,
      [](TableReader& reader, TomlReport& report) {
        PinnedPlans result;
        result.delegate = reader.text("delegate");
        result.model = read_key(reader, "model");
        const toml::array* const plans = reader.tables("plans");
        if (plans == nullptr) return result;
        for (const toml::node& node : *plans) {
          const toml::table& table = *node.as_table();
          TableReader plan(table, report);
          const std::uint64_t sizes = read_key(plan, "sizes");
          plan.ask("regions");
          result.plans.insert_or_assign(sizes, read_pinned_regions(table, report));
          plan.finish();
        }
        return result;
      },
      kMaxPinBytes);
}

std::string pins_head(const PinnedPlans& plans) {
  return fmt::format(
      "# Which nodes a delegate runs: written and read by --pin-plan of Parallax.\n"
      "delegate = {}\nmodel = {}\n",
      pin_quoted(plans.delegate), static_cast<std::int64_t>(plans.model));
}

std::string pins_entry(std::uint64_t sizes, const PinnedPlans::Regions& regions) {
  // An editor may have left the line before without an end.
  std::string text =
      fmt::format("\n{}sizes = {}\n{}", kEntry, static_cast<std::int64_t>(sizes), kRegions);
  for (const std::vector<std::string>& region : regions) {
    text += "\n  [";
    for (const std::string& name : region) text += pin_quoted(name) + ", ";
    text += "],";
  }
  text += kEntryEnd;
  return text;
}

std::size_t incomplete_pins_entry(std::string_view text) {
  const std::size_t line = text.rfind('\n') + 1;  // 0 if there is no newline
  if (line < text.size() && kEntry.starts_with(text.substr(line))) return line;
  const std::size_t entry = text.rfind(kEntry);
  if (entry == std::string_view::npos || text.find(kEntryEnd, entry) != std::string_view::npos)
    return text.size();
  const std::size_t regions = text.find(kRegions, entry);
  if (regions == std::string_view::npos) return entry;
  // Users may write all regions in one line.
  const std::string_view next = text.substr(regions + kRegions.size(), 1);
  return next.empty() || next == "\n" ? entry : text.size();
}

}  // namespace parallax
