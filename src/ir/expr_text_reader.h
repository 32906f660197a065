// Reads expressions of symbols in the text form: 2 * (seq + 1), floor_div(batch, 4). Functions are
// floor_div, mod, min, max and broadcast; `overflow` is an expression that never evaluates. Errors:
// kInvalidModel. Not thread-safe; one object for each text.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"
#include "ir/text/token_reader.h"

namespace parallax {

/// Reads from the line that TokenReader holds, and advances its position. Base of ConstantReader
/// (ir/text/constant_reader.h), from which the parser (ir/text/parse.cc) derives.
class ExprTextReader : public TokenReader {
 protected:
  /// Reads a list in brackets, such as [batch, 3], also an empty one.
  Result<std::vector<Expr>> exprs();

  /// Reads terms that + and - join, up to the first token that continues none. `nesting`: number of
  /// parentheses, calls and minus signs around it; more than 64 are refused.
  Result<Expr> sum(int nesting);

  /// The symbols that the text has declared so far; others are refused.
  std::unordered_map<std::string, SymbolId> symbols_;

 private:
  Result<Expr> product(int nesting);
  Result<Expr> factor(int nesting);
};

}  // namespace parallax
