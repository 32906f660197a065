#include "load/names.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace parallax {
namespace {

constexpr std::size_t kMaxName = 65535;

/// Length of the UTF-8 sequence that starts with `lead`, 0 where none does.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// True for the sequences that UTF-8 forbids although their bytes look right: overlong forms,
/// surrogates, and what lies beyond U+10FFFF.
bool is_forbidden(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  const auto second = static_cast<unsigned char>(sequence[1]);
  return (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
         (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
}

constexpr std::uint64_t kEach = 0x0101010101010101;  // times a byte: that byte in each place

/// The highest bit of a byte is set where one at or below it is no printable ASCII.
std::uint64_t not_printable(std::uint64_t bytes) {
  const std::uint64_t control = bytes - 0x20 * kEach, del = bytes + kEach;
  return (bytes | control | del) & 0x80 * kEach;
}

std::uint64_t word_at(const char* text, std::size_t size) {
  std::uint64_t word = 0x20 * kEach;
  std::memcpy(&word, text, size);
  return word;
}

/// Nearly every name is. Eight bytes at a time: a model has many names, and long ones.
bool is_printable_ascii(std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (text.empty()) return true;
  if (text.size() < kWord) return not_printable(word_at(text.data(), text.size())) == 0;
  std::uint64_t other = not_printable(word_at(text.data() + text.size() - kWord, kWord));
  for (std::size_t i = 0; i + kWord < text.size(); i += kWord)
    other |= not_printable(word_at(text.data() + i, kWord));
  return other == 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const std::size_t length = sequence_length(static_cast<unsigned char>(text[0]));
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if (!is_continuation(text[k])) return 0;
  return length > 1 && is_forbidden(text.substr(0, length)) ? 0 : length;
}

Status check_name(std::string_view what, std::string_view name) {
  if (name.size() > kMaxName) {
    return invalid_model(fmt::format("{} has a name of {} bytes", what, name.size()));
  }
  if (is_printable_ascii(name)) return {};
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      return invalid_model(
          fmt::format("the name of {} contains the control character 0x{:02x}", what, byte));
    }
  }
  if (!is_utf8(name)) return invalid_model(fmt::format("the name of {} is not UTF-8", what));
  return {};
}

Status check_text(std::string_view what, std::string_view text) {
  if (is_utf8(text)) return {};
  return invalid_model(fmt::format("{} is not UTF-8", what));
}

std::string shorten(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  std::size_t head = longest / 2;
  std::size_t tail = text.size() - longest / 2;
  while (head > 0 && is_continuation(text[head])) --head;
  while (tail < text.size() && is_continuation(text[tail])) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

std::string quote(std::string_view name) { return fmt::format("'{}'", shorten(name)); }

}  // namespace parallax
