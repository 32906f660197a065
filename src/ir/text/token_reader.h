// Reads names, punctuation and numbers of one line of the text form, token by token.
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

/// The number that is all of `text`.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class TokenReader {
 protected:
  using Kind = Token::Kind;

  TokenReader() = default;

  /// Goes on to another line.
  Status begin(std::string_view line);

  const Token& peek() const { return tokens_[at_]; }
  Token next() { return tokens_[peek().kind == Kind::kEnd ? at_ : at_++]; }
  bool accept(std::string_view punctuation) {
    if (!peek().is(punctuation)) return false;
    ++at_;
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!peek().is_word(word)) return false;
    ++at_;
    return true;
  }
  Status expect(std::string_view punctuation);
  Result<std::string> name();

  /// The text of a number with its sign: -3, 0.5, inf.
  Result<std::string> number();

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

  Result<std::vector<std::string>> texts();

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace parallax
