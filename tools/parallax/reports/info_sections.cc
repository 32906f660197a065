#include "reports/info_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "options/example.h"
#include "reports/report.h"

namespace parallax::cli {

void print_sections(const FileReport& file) {
  constexpr std::size_t kWidest = 40;
  if (file.sections.empty()) return;
  std::size_t width = 0;
  for (const FileSection& section : file.sections) width = std::max(width, section.name.size());
  fmt::print("\nsections of the {}\n", file.container);
  for (const FileSection& section : file.sections) {
    fmt::print("  {:<{}}  {}, {} bytes ({}){}\n", section.name, std::min(width, kWidest),
               section.type, section.bytes, format_bytes(section.bytes),
               section.is_model ? ", can be loaded" : "");
  }
}

void print_choice(const FileReport& file, const std::string& path) {
  const auto first = std::ranges::find_if(file.sections, &FileSection::is_model);
  if (first == file.sections.end()) return;
  fmt::print("\nseveral models: --section chooses one, as in\nparallax info {} --section {}\n",
             shell_word(path), shell_word(first->name));
}

nlohmann::json sections_json(const FileReport& file) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileSection& section : file.sections)
    list.push_back({{"name", section.name},
                    {"type", section.type},
                    {"bytes", section.bytes},
                    {"model", section.is_model}});
  return list;
}

}  // namespace parallax::cli
