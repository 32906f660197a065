#include "load/onnx/external_data.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/status.h"
#include "load/names.h"

namespace parallax {
namespace {

/// The entries of one tensor.
struct Location {
  std::optional<std::string_view> path;
  std::optional<std::int64_t> offset, length;
};

Result<std::int64_t> parse_count(std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [p, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || p != end || value < 0) {
    return invalid_model(fmt::format("external data has a bad {}", key));
  }
  return value;
}

/// Entries that do not say where the bytes lie. A checksum is optional, and weights are not read
/// before they are used; ONNX Runtime packs weights for its kernels and notes where.
bool is_skipped(std::string_view key) { return key == "checksum" || key.starts_with("prepacked_"); }

Result<Location> parse_location(std::span<const OnnxEntry> entries) {
  Location location;
  for (const OnnxEntry& entry : entries) {
    if (entry.key == "location" && !location.path) {
      PX_RETURN_IF_ERROR(check_name("an external file", entry.value));
      location.path = entry.value;
    } else if (entry.key == "offset" && !location.offset) {
      PX_ASSIGN(location.offset, parse_count(entry.key, entry.value));
    } else if (entry.key == "length" && !location.length) {
      PX_ASSIGN(location.length, parse_count(entry.key, entry.value));
    } else if (!is_skipped(entry.key)) {
      PX_RETURN_IF_ERROR(check_name("an entry of external data", entry.key));
      return invalid_model(
          fmt::format("external data has an unknown or repeated entry {}", quote(entry.key)));
    }
  }
  if (!location.path || location.path->empty()) {
    return invalid_model("external data has no location");
  }
  return location;
}

}  // namespace

Result<SharedBytes> read_external(ExternalFiles& files, std::span<const OnnxEntry> entries,
                                  std::int64_t size) {
  PX_ASSIGN(const Location location, parse_location(entries));
  return files.read({*location.path, location.offset.value_or(0), location.length}, size);
}

}  // namespace parallax
