// Integer expressions over named symbols: the dimensions of a graph whose sizes are not known yet,
// and the elements of small integer tensors that are computed from them (Shape -> Gather -> Concat
// -> Reshape chains).
//
// An Expr is kept in a normal form, a polynomial over atoms with integer coefficients, where an
// atom is a symbol or an opaque floor_div/mod/min/max/broadcast of normal forms. Equal ones compare
// equal however they were written:
//     (s + 1) * 2 - s == s + 2
// Symbols are dimensions, hence >= 0; this is what lower_bound() and the simplifications of min/max
// rely on. Arithmetic that would leave 63 bits gives an expression that never evaluates (overflow()
// is true). Thread-safety: immutable value type, cheap to copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"

namespace parallax {

/// One expression. Constants take no memory of their own; others share theirs among copies.
class Expr {
 public:
  Expr(std::int64_t constant = 0);  // NOLINT(google-explicit-constructor): dims are numbers
  /// Returns a symbol, whose value is not known but >= 0.
  static Expr symbol(SymbolId id);

  /// Returns the value of an expression without symbols; nullopt otherwise, and if it overflows.
  std::optional<std::int64_t> constant() const;
  /// Returns a bound that holds whatever values >= 0 the symbols have; nullopt if none is known.
  std::optional<std::int64_t> lower_bound() const;
  /// Returns whether it never evaluates: arithmetic left 63 bits, a divisor was the constant 0, or
  /// it passed the limits of ir/expr/expr_polynomial.h. Expressions made of it overflow too, and it
  /// equals no expression, itself included.
  bool overflow() const;
  /// Nodes of its tree, which bound what it takes and what evaluating it costs.
  int size() const;
  /// Symbols that occur, each once, ascending.
  std::vector<SymbolId> symbols() const;

  /// Returns the value for the given symbol values (indexed by SymbolId; nullopt = unbound).
  /// Nullopt if a symbol is unbound, a divisor is 0, sizes do not broadcast or 63 bits do not
  /// suffice. O(size of the expression).
  std::optional<std::int64_t> evaluate(std::span<const std::optional<std::int64_t>> values) const;

  /// Returns "2*seq + 1"; names indexed by SymbolId, "symbol_3" for those beyond the list,
  /// "overflow".
  std::string to_string(std::span<const std::string> names) const;

  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  /// Rounds towards minus infinity. Exact polynomial division is carried out: (4*s*t) / (2*s) =
  /// 2*t.
  friend Expr floor_div(const Expr& a, const Expr& b);
  friend Expr ceil_div(const Expr& a, const Expr& b);
  /// Result has the sign of the divisor, like ONNX Mod with fmod = 0.
  friend Expr mod(const Expr& a, const Expr& b);
  friend Expr min(const Expr& a, const Expr& b);
  friend Expr max(const Expr& a, const Expr& b);
  /// Structural equality of the normal forms. `true` means equal for all symbol values; `false`
  /// means not known equal.
  friend bool operator==(const Expr& a, const Expr& b);

  struct Polynomial;  // expr.cc

 private:
  explicit Expr(std::shared_ptr<const Polynomial> p);
  std::int64_t constant_ = 0;               // the value where poly_ is null
  std::shared_ptr<const Polynomial> poly_;  // null: a constant
};

/// Terms that arithmetic on expressions has gone through on this thread so far: the difference of
/// two calls is the work between them.
std::int64_t expr_terms();

/// The symbolic dimensions of a value. Rank <= Dims::kMaxRank.
using Shape = std::vector<Expr>;

}  // namespace parallax
