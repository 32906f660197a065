// Reads expressions of symbols in the text form: 2 * (seq + 1), floor_div(batch, 4). Functions are
// floor_div, mod, min, max and broadcast; `overflow` is an expression that never evaluates. Errors:
// kInvalidModel.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"
#include "ir/text/token_reader.h"

namespace parallax {

/// Reads from the line that TokenReader holds. The parser (ir/text/parse.cc) derives from it.
class ExprTextReader : public TokenReader {
 protected:
  /// Reads a list in brackets, such as [batch, 3], also an empty one.
  Result<std::vector<Expr>> exprs();

  /// Reads an expression as long as there are operators. `nesting`: parentheses around it; more
  /// than 64 are refused.
  Result<Expr> sum(int nesting);

  /// The symbols that the text has declared so far; others are refused.
  std::unordered_map<std::string, SymbolId> symbols_;

 private:
  Result<Expr> product(int nesting);
  Result<Expr> factor(int nesting);
};

}  // namespace parallax
