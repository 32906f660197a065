// StringNormalizer. Letters are those of Unicode, as the C library's UTF-8 locale knows them; where
// the system has no such locale, those of ASCII.
#include <clocale>
#include <cwctype>
#include <set>
#include <utility>

#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "ops/params/strings.h"

namespace parallax {
namespace {

/// A locale that lives as long as the process.
locale_t unicode() {
  static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kLocale;
}

char32_t changed(char32_t letter, bool upper) {
  if (letter < 0x80 || unicode() == nullptr) {
    const bool is_upper = letter >= 'A' && letter <= 'Z', is_lower = letter >= 'a' && letter <= 'z';
    return upper ? (is_lower ? letter - 32 : letter) : (is_upper ? letter + 32 : letter);
  }
  const auto wide = static_cast<wint_t>(letter);
  return static_cast<char32_t>(upper ? towupper_l(wide, unicode()) : towlower_l(wide, unicode()));
}

/// Returns the code point at `at` and advances `at` behind it. If there is no valid one, returns
/// nullopt and leaves `at` as it is.
std::optional<char32_t> next_letter(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || text.size() - at < size) return std::nullopt;
  char32_t letter = size == 1 ? first : first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return std::nullopt;
    letter = letter << 6U | (byte(i) & 0x3fU);
  }
  at += size;
  return letter;
}

void append_letter(std::string& text, char32_t letter) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | ((letter >> shift) & 0x3fU));
  };
  if (letter < 0x80) {
    text += static_cast<char>(letter);
  } else if (letter < 0x800) {
    text += static_cast<char>(0xc0U | letter >> 6U);
    tail(0);
  } else if (letter < 0x10000) {
    text += static_cast<char>(0xe0U | letter >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | letter >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Bytes that are not valid UTF-8 are copied unchanged.
std::string in_case(std::string_view text, bool upper) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const auto letter = next_letter(text, at)) {
      append_letter(result, changed(*letter, upper));
    } else {
      result += text[at++];
    }
  }
  return result;
}

}  // namespace

Status normalize_strings(const ObjectCall& call) {
  const Object& input = *call.input(0);
  const auto params = params_of<StringNormalizerParams>(call.node);
  const bool exact = params.is_case_sensitive;
  const CaseChange change = params.case_change_action;
  std::set<std::string> stops;
  for (const std::string& word : params.stopwords)
    stops.insert(exact ? word : in_case(word, false));
  std::vector<std::string> kept;
  for (const std::string& word : input.strings()) {
    if (!stops.empty() && stops.contains(exact ? word : in_case(word, false))) continue;
    kept.push_back(change == CaseChange::kNone ? word
                                               : in_case(word, change == CaseChange::kUpper));
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims = input.dims();
  dims[dims.rank() - 1] = std::ssize(kept);
  PX_ASSIGN(call.outputs[0], make_object(call, dims, std::move(kept)));
  return {};
}

}  // namespace parallax
