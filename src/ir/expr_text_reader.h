// Reads expressions of symbols in the text form: 2 * (seq + 1), floor_div(batch, 4).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"
#include "ir/text/token_reader.h"

namespace parallax {

class ExprTextReader : public TokenReader {
 protected:
  /// [batch, 3]
  Result<std::vector<Expr>> exprs();

  /// `nesting`: parentheses around it.
  Result<Expr> sum(int nesting);

  std::unordered_map<std::string, SymbolId> symbols_;

 private:
  Result<Expr> product(int nesting);
  Result<Expr> factor(int nesting);
};

}  // namespace parallax
