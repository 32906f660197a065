#include "partition/pin_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "partition/toml_reader.h"

namespace parallax {
namespace {

constexpr std::size_t kMaxPinBytes = std::size_t{16} << 20;

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

/// A basic string of TOML.
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
          if (!result.plans.emplace(sizes, read_pinned_regions(table, report)).second)
            report.add(table.source(), "a plan of the same sizes stands here twice");
          plan.finish();
        }
        return result;
      },
      kMaxPinBytes);
}

Result<std::string> pins_text(const PinnedPlans& plans) {
  std::string text = "# Which nodes a delegate runs: written and read by --pin-plan of Parallax.\n";
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "delegate = {}\nmodel = {}\n", pin_quoted(plans.delegate),
                 static_cast<std::int64_t>(plans.model));
  for (const auto& [sizes, regions] : plans.plans) {
    fmt::format_to(out, "[[plans]]\nsizes = {}\nregions = [", static_cast<std::int64_t>(sizes));
    for (const std::vector<std::string>& region : regions) {
      text += "\n  [";
      for (const std::string& name : region) fmt::format_to(out, "{}, ", pin_quoted(name));
      text += "],";
    }
    text += "\n]\n";
  }
  PX_RETURN_IF_ERROR(parse_pins(text, "a plan to pin"));
  return text;
}

Result<PinnedPlans> load_pins(const std::filesystem::path& path) {
  return load_toml<PinnedPlans>(path, parse_pins);
}

Status save_pins(const std::filesystem::path& path, const PinnedPlans& plans) {
  PX_ASSIGN(const std::string text, pins_text(plans));
  std::filesystem::path beside = path;
  beside += ".tmp";
  std::ofstream(beside, std::ios::binary | std::ios::trunc) << text << std::flush;
  std::error_code code;
  const auto size = std::filesystem::file_size(beside, code);
  if (!code && size == text.size()) std::filesystem::rename(beside, path, code);
  if (!code && size == text.size()) return {};
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return tl::unexpected(
      Error{Stage::kIo, ErrorCode::kIo, {}, fmt::format("cannot write '{}'", path.string())});
}

}  // namespace parallax
