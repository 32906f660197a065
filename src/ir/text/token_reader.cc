#include "ir/text/token_reader.h"

#include <fmt/core.h>

namespace parallax {

Status TokenReader::begin(std::string_view line) {
  PX_ASSIGN(tokens_, tokens_of(line));
  at_ = 0;
  return {};
}

Status TokenReader::expect(std::string_view punctuation) {
  if (accept(punctuation)) return {};
  return syntax_error(fmt::format("expected '{}', found '{}'", punctuation, peek().text));
}

Result<std::string> TokenReader::name() {
  if (peek().kind != Kind::kName && peek().kind != Kind::kQuoted) {
    return syntax_error("expected a name, found '" + peek().text + "'");
  }
  return next().text;
}

Result<std::string> TokenReader::number() {
  std::string text = accept("-") ? "-" : "";
  if (peek().kind != Kind::kNumber && !peek().is_word("inf") && !peek().is_word("nan")) {
    return syntax_error("expected a number, found '" + peek().text + "'");
  }
  return text + next().text;
}

Result<std::vector<std::string>> TokenReader::texts() {
  std::vector<std::string> result;
  PX_RETURN_IF_ERROR(expect("["));
  while (!accept("]")) {
    if (!result.empty()) PX_RETURN_IF_ERROR(expect(","));
    if (peek().kind != Kind::kQuoted) return syntax_error("expected a text in quotes");
    result.push_back(next().text);
  }
  return result;
}

}  // namespace parallax
