#include "ir/expr_text_reader.h"

#include <charconv>
#include <utility>

#include "base/status.h"
#include "ir/expr/expr_broadcast.h"

namespace parallax {
namespace {

constexpr int kMaxParentheses = 64;  ///< inside each other

}  // namespace

Result<std::vector<Expr>> ExprTextReader::exprs() {
  std::vector<Expr> result;
  PX_RETURN_IF_ERROR(expect("["));
  while (!accept("]")) {
    if (!result.empty()) PX_RETURN_IF_ERROR(expect(","));
    PX_ASSIGN(Expr e, sum(0));
    result.push_back(std::move(e));
  }
  return result;
}

Result<Expr> ExprTextReader::sum(int nesting) {
  PX_ASSIGN(Expr total, product(nesting));
  while (peek().is("+") || peek().is("-")) {
    const bool minus = next().text == "-";
    PX_ASSIGN(const Expr term, product(nesting));
    total = minus ? total - term : total + term;
  }
  return total;
}

Result<Expr> ExprTextReader::product(int nesting) {
  PX_ASSIGN(Expr total, factor(nesting));
  while (accept("*")) {
    PX_ASSIGN(const Expr one, factor(nesting));
    total = total * one;
  }
  return total;
}

Result<Expr> ExprTextReader::factor(int nesting) {
  if (nesting > kMaxParentheses) return syntax_error("expression nested too deeply");
  const bool negative = accept("-");
  if (peek().kind == Kind::kNumber) {
    const std::string text = (negative ? "-" : "") + next().text;
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) {
      return syntax_error("bad integer '" + text + "'");
    }
    return Expr(value);
  }
  if (negative) {
    PX_ASSIGN(const Expr positive, factor(nesting + 1));
    return Expr(0) - positive;
  }
  if (accept("(")) {
    PX_ASSIGN(Expr inner, sum(nesting + 1));
    PX_RETURN_IF_ERROR(expect(")"));
    return inner;
  }
  if (accept_word("overflow")) return floor_div(Expr(1), Expr(0));
  using Function = Expr (*)(const Expr&, const Expr&);
  const std::pair<std::string_view, Function> functions[] = {
      {"floor_div", [](const Expr& a, const Expr& b) { return floor_div(a, b); }},
      {"mod", [](const Expr& a, const Expr& b) { return mod(a, b); }},
      {"min", [](const Expr& a, const Expr& b) { return min(a, b); }},
      {"max", [](const Expr& a, const Expr& b) { return max(a, b); }},
      {"broadcast", [](const Expr& a, const Expr& b) { return broadcast(a, b); }}};
  for (const auto& [word, function] : functions) {
    if (!accept_word(word)) continue;
    PX_RETURN_IF_ERROR(expect("("));
    PX_ASSIGN(const Expr a, sum(nesting + 1));
    PX_RETURN_IF_ERROR(expect(","));
    PX_ASSIGN(const Expr b, sum(nesting + 1));
    PX_RETURN_IF_ERROR(expect(")"));
    return function(a, b);
  }
  PX_ASSIGN(const std::string text, name());
  const auto found = symbols_.find(text);
  if (found == symbols_.end()) return syntax_error("unknown symbol '" + text + "'");
  return Expr::symbol(found->second);
}

}  // namespace parallax
