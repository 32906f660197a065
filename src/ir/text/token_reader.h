// Reads names, punctuation and numbers of one line of the text form, token by token. Errors of its
// functions: kInvalidModel, as syntax_error() of ir/text/lexer.h makes them.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/text/lexer.h"

namespace parallax {

/// Returns the number that is all of `text`; nullopt for other texts, and if T cannot hold it.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The tokens of a line and a position among them. Base of the readers of constants and
/// expressions.
class TokenReader {
 protected:
  using Kind = Token::Kind;

  TokenReader() = default;

  /// Goes on to another line.
  Status begin(std::string_view line);

  /// Returns the next token and stays; kEnd behind the last. REQUIRES: begin() was called.
  const Token& peek() const { return tokens_[at_]; }
  /// Returns the next token and goes behind it; stays at the end.
  Token next() { return tokens_[peek().kind == Kind::kEnd ? at_ : at_++]; }
  /// Goes behind the next token if it is this punctuation; returns whether it is.
  bool accept(std::string_view punctuation) {
    if (!peek().is(punctuation)) return false;
    ++at_;
    return true;
  }
  /// Likewise for a word without quotes.
  bool accept_word(std::string_view word) {
    if (!peek().is_word(word)) return false;
    ++at_;
    return true;
  }
  /// Likewise for punctuation; an error if it does not come next.
  Status expect(std::string_view punctuation);
  /// Reads a name, with or without quotes.
  Result<std::string> name();

  /// Reads a number and returns its text with its sign: -3, 0.5, inf, nan.
  Result<std::string> number();

  /// Reads a list of numbers in brackets; refuses those that T cannot hold.
  template <class T>
  Result<std::vector<T>> numbers() {
    std::vector<T> result;
    PX_RETURN_IF_ERROR(expect("["));
    while (!accept("]")) {
      if (!result.empty()) PX_RETURN_IF_ERROR(expect(","));
      PX_ASSIGN(const std::string text, number());
      T element{};
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), element);
      if (code != std::errc{} || end != text.data() + text.size()) {
        return syntax_error("bad number '" + text + "'");
      }
      result.push_back(element);
    }
    return result;
  }

  /// Reads a list of texts in quotes, in brackets.
  Result<std::vector<std::string>> texts();

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace parallax
