// Splits one line of the text form into tokens. Used by the parser, and by the printer, which must
// quote names so that the parser reads them back unchanged. Call the functions from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

/// A token; kEnd ends the line.
struct Token {
  /// A number has no sign: 12, 0.5, 1e-05.
  enum class Kind : std::uint8_t { kName, kQuoted, kNumber, kPunctuation, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  ///< quotes are removed and escapes decoded

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  bool is_word(std::string_view word) const { return kind == Kind::kName && text == word; }
};

/// Splits `line` up to its end or an unquoted `#`, and appends a token of kind kEnd. Errors:
/// kInvalidModel for a quote that is not closed, an unknown escape or an unexpected character.
Result<std::vector<Token>> tokens_of(std::string_view line);

/// Returns whether `c` may start an unquoted name: a letter or '_'. The rest of the name may also
/// have digits and '.'.
bool starts_name(char c);

/// Makes the error kInvalidModel that lexer and parser return for malformed text.
tl::unexpected<Error> syntax_error(std::string message);

}  // namespace parallax
