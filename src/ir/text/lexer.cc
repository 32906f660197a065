#include "ir/text/lexer.h"

namespace parallax {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Length of the number that `text` starts with: 12, 0.5, 1e-05.
std::size_t number_length(std::string_view text) {
  std::size_t n = 0;
  const auto digits = [&] {
    while (n < text.size() && is_digit(text[n])) ++n;
  };
  digits();
  if (n < text.size() && text[n] == '.') {
    ++n;
    digits();
  }
  if (n < text.size() && text[n] == 'e') {
    std::size_t sign = n + 1;
    if (sign < text.size() && (text[sign] == '+' || text[sign] == '-')) ++sign;
    if (sign < text.size() && is_digit(text[sign])) {
      n = sign;
      digits();
    }
  }
  return n;
}

/// Reads the string that starts behind the quote at `i`, and moves `i` behind its end.
Result<std::string> read_quoted(std::string_view line, std::size_t& i) {
  std::string text;
  for (++i; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    ++i;
    if (i + 2 < line.size() && line[i] == 'x') {
      const int high = hex_digit(line[i + 1]), low = hex_digit(line[i + 2]);
      if (high < 0 || low < 0) return syntax_error("\\x wants two hexadecimal digits");
      text += static_cast<char>(high * 16 + low);
      i += 2;
    } else if (i < line.size() && (line[i] == '"' || line[i] == '\\')) {
      text += line[i];
    } else {
      return syntax_error("unknown escape in a string");
    }
  }
  if (i >= line.size()) return syntax_error("string without end");
  ++i;
  return text;
}

}  // namespace

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

tl::unexpected<Error> syntax_error(std::string message) {
  return tl::unexpected(Error{Stage::kLoad, ErrorCode::kInvalidModel, "", std::move(message)});
}

Result<std::vector<Token>> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  std::size_t i = 0;
  while (i < line.size() && line[i] != '#') {
    const char c = line[i];
    const std::string_view rest = line.substr(i);
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (starts_name(c)) {
      std::size_t n = 0;
      while (n < rest.size() && (starts_name(rest[n]) || is_digit(rest[n]) || rest[n] == '.')) ++n;
      tokens.push_back({Token::Kind::kName, std::string(rest.substr(0, n))});
      i += n;
    } else if (is_digit(c)) {
      const std::size_t n = number_length(rest);
      tokens.push_back({Token::Kind::kNumber, std::string(rest.substr(0, n))});
      i += n;
    } else if (c == '"') {
      auto text = read_quoted(line, i);
      if (!text) return tl::unexpected(text.error());
      tokens.push_back({Token::Kind::kQuoted, std::move(*text)});
    } else if (rest.substr(0, 3) == "...") {
      tokens.push_back({Token::Kind::kPunctuation, "..."});
      i += 3;
    } else if (std::string_view("[](){}=,:;@+-*").find(c) != std::string_view::npos) {
      tokens.push_back({Token::Kind::kPunctuation, std::string(1, c)});
      ++i;
    } else {
      return syntax_error(std::string("unexpected character '") + c + "'");
    }
  }
  tokens.push_back({});
  return tokens;
}

}  // namespace parallax
