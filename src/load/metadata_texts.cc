#include "load/metadata_texts.h"

#include "load/names.h"

namespace parallax {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string MetadataTexts::copy(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = length == 0 ? kReplacement : text.substr(0, length);
    if (character.size() > left_) {
      truncated = true;
      break;
    }
    left_ -= character.size();
    result += character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace parallax
