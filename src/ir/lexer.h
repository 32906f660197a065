// Splits one line of the text form into tokens. Used by the parser, and by the printer, which must
// write names so that they are read back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

struct Token {
  enum class Kind : std::uint8_t { kName, kQuoted, kNumber, kPunctuation, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  ///< without quotes and escapes

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  bool is_word(std::string_view word) const { return kind == Kind::kName && text == word; }
};

/// The tokens of `line` up to `#` or the line's end, closed by one of kind kEnd. Errors:
/// kInvalidModel.
Result<std::vector<Token>> tokens_of(std::string_view line);

/// Returns whether a name that starts with `c` may go without quotes.
bool is_letter(char c);

/// Returns the error of lexer and parser for malformed text: kInvalidModel.
tl::unexpected<Error> syntax_error(std::string message);

}  // namespace parallax
