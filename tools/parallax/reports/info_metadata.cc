#include "reports/info_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace parallax::cli {
namespace {

constexpr std::size_t kLongest = 200;  // bytes of a text in a line
constexpr std::size_t kMostPairs = 20;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// A text as a part of a line. It is UTF-8, so C1 controls are 0xC2 and one of 0x80 to 0x9F.
std::string shown(std::string_view text) {
  const bool cut = text.size() > kLongest;
  if (cut) {
    std::size_t end = kLongest;
    while (continues(text[end])) --end;
    text = text.substr(0, end);
  }
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next < 0xA0) {
      line += fmt::format("\\x{:02x}", next);
      ++i;
    } else {
      line += text[i];
    }
  }
  return cut ? line + "..." : line;
}

void print_text(const char* what, std::string_view text) {
  if (!text.empty()) fmt::print("{}: {}\n", what, shown(text));
}

}  // namespace

void print_metadata(const ModelMetadata& metadata) {
  if (!metadata.producer_name.empty() || !metadata.producer_version.empty()) {
    fmt::print("producer: {}{}{}\n", shown(metadata.producer_name),
               metadata.producer_name.empty() || metadata.producer_version.empty() ? "" : " ",
               shown(metadata.producer_version));
  }
  print_text("domain", metadata.domain);
  if (metadata.model_version != 0) fmt::print("model version: {}\n", metadata.model_version);
  print_text("graph", metadata.graph_name);
  print_text("description", metadata.doc_string);
  const auto& pairs = metadata.properties;
  if (!pairs.empty()) fmt::print("metadata:\n");
  for (std::size_t i = 0; i < std::min(pairs.size(), kMostPairs); ++i)
    fmt::print("  {}: {}\n", shown(pairs[i].first), shown(pairs[i].second));
  if (pairs.size() > kMostPairs) fmt::print("  ... and {} more\n", pairs.size() - kMostPairs);
}

nlohmann::json metadata_json(const ModelMetadata& metadata) {
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& [key, value] : metadata.properties)
    pairs.push_back({{"key", key}, {"value", value}});
  return {{"producer_name", metadata.producer_name},
          {"producer_version", metadata.producer_version},
          {"domain", metadata.domain},
          {"model_version", metadata.model_version},
          {"graph_name", metadata.graph_name},
          {"doc_string", metadata.doc_string},
          {"properties", pairs},
          {"truncated", metadata.truncated}};
}

}  // namespace parallax::cli
