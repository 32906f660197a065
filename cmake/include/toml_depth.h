#pragma once

// Finds what is too deep in a text of TOML before a parser reads it: toml++ recurses over the tree
// that it makes, and a key of 100,000 parts overflows the stack. One pass without recursion or
// allocation.
//
// Strings and comments are skipped as the parser skips them. If the text is not TOML, the two may
// differ, but only behind the place at which the parser stops.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace parallax {

struct TomlLimits {
  int key_parts = 16;  ///< "a.b.c" has three
  int nesting = 16;    ///< lists and inline tables inside each other
};

struct DeepToml {
  unsigned line = 1;
  std::string problem;
};

/// The position behind the string that begins at text[begin], or where the parser refuses it.
inline std::size_t end_of_toml_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const bool escapes = quote == '"';
  const bool lines = text.substr(begin, 3) == std::string(3, quote);
  for (std::size_t i = begin + (lines ? 3 : 1); i < text.size(); ++i) {
    if (escapes && text[i] == '\\') {
      ++i;
    } else if (text[i] == '\n' && !lines) {
      return i;
    } else if (text[i] == quote) {
      if (!lines) return i + 1;
      // Up to two more quotes before the last three are a part of the string.
      const std::size_t count = std::min(text.find_first_not_of(quote, i), text.size()) - i;
      if (count >= 3) return i + std::min<std::size_t>(count, 5);
      i += count - 1;
    }
  }
  return text.size();
}

/// The first place that exceeds `limits`; nullopt: none does.
inline std::optional<DeepToml> find_deep_toml(std::string_view text, TomlLimits limits = {}) {
  const auto nested = [&] {
    return "more than " + std::to_string(limits.nesting) + " lists or tables inside each other";
  };
  const auto dotted = [&] {
    return "a key of more than " + std::to_string(limits.key_parts) + " parts";
  };
  unsigned line = 1;
  int open = 0, dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_toml_string(text, i);
      line +=
          static_cast<unsigned>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                           text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    ++i;
    if (c == '.' && ++dots >= limits.key_parts) return DeepToml{line, dotted()};
    if (c == '[' || c == '{') ++open;
    if (c == ']' || c == '}') open = std::max(0, open - 1);
    if (open > limits.nesting) return DeepToml{line, nested()};
    if (c == '\n') ++line;
    if (std::string_view("[]{}=,\n").find(c) != std::string_view::npos) dots = 0;
  }
  return std::nullopt;
}

}  // namespace parallax
