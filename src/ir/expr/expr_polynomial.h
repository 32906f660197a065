// The inside of Expr: polynomials over atoms. A polynomial is a list of terms in descending
// lexicographic order of their monomials, the constant term last, no coefficient 0, no monomial
// twice. Only the sources of Expr and verify.cc include this.
//
// Limits keep a hostile model from growing expressions without end: what passes kMaxTerms,
// kMaxDepth or kMaxSize becomes Expr::overflow(). Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ir/expr.h"

namespace parallax {

inline constexpr std::size_t kMaxTerms = 64;  ///< limit of one polynomial
inline constexpr int kMaxDepth = 16;          ///< limit of atoms inside atoms
inline constexpr int kMaxSize =
    512;  ///< limit of the whole tree, which bounds the cost of evaluation

/// Bounds that hold for all symbol values >= 0; nothing = unbounded or not known.
struct Interval {
  std::optional<std::int64_t> low, high;
};

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax, kBroadcast };
inline constexpr AtomKind kLastAtomKind = AtomKind::kBroadcast;

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  SymbolId symbol;  ///< kSymbol only
  Expr a, b;        ///< operands of the others
  int size = 1;
  int depth = 1;
  Interval range;
};

struct Factor {
  std::shared_ptr<const Atom> atom;
  int power = 1;
};

/// coefficient * product of the factors, which are sorted by atom, each atom once.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<Factor> factors;
};
using Terms = std::vector<Term>;

struct Expr::Polynomial {
  Terms terms;
  bool overflow = false;
  int size = 0;
  int depth = 0;
  Interval range;

  /// Null where `e` is a constant.
  static const Polynomial* of(const Expr& e) { return e.poly_.get(); }
  static Expr overflowed();
  /// The expression of sorted terms; overflowed() past the limits.
  static Expr make(Terms terms);
  /// e * factor. REQUIRES: `e` is no constant and does not overflow.
  static Expr scaled(const Expr& e, std::int64_t factor);
  /// floor_div, mod, min, max or broadcast left as it is.
  static Expr atom(AtomKind kind, const Expr& a, const Expr& b);
  static Expr wrap(Polynomial p) { return Expr(std::make_shared<const Polynomial>(std::move(p))); }
};

/// Total orders, 0 where structurally equal.
int compare(const Expr& a, const Expr& b);
int compare(const Atom& a, const Atom& b);
/// The lexicographic monomial order: compatible with products, so long division works.
int compare_monomials(const Term& a, const Term& b);

/// Whether every symbol that occurs is below `count`: what symbols() says, without a list of them.
bool symbols_below(const Expr& e, std::size_t count);
Interval range_of(const Expr& e);
Terms terms_of(const Expr& e);
/// The atom of an expression that is exactly `1 * atom`; null otherwise.
const Atom* as_atom(const Expr& e);

/// Nothing where a coefficient does not fit 63 bits.
std::optional<Terms> add(const Terms& a, const Terms& b);
std::optional<Terms> multiply(const Terms& a, const Term& b);
/// a / b for one term each, where that is exact.
std::optional<Term> divide(const Term& a, const Term& b);

/// Divisor != 0, and not INT64_MIN / -1.
inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
/// Returns the remainder of floor_quotient(), which has the divisor's sign.
inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace parallax
