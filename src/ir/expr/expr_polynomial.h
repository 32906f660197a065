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

/// Bounds that hold for all symbol values >= 0; nullopt: unbounded or not known.
struct Interval {
  std::optional<std::int64_t> low, high;
};

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax, kBroadcast };
inline constexpr AtomKind kLastAtomKind = AtomKind::kBroadcast;

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  SymbolId symbol;  ///< kSymbol only
  Expr a, b;        ///< operands of the others: floor(a / b), a mod b, broadcast(a, b), ...
  int size = 1;     ///< nodes of its tree
  int depth = 1;    ///< levels of atoms inside each other
  Interval range;   ///< its possible values
};

struct Factor {
  std::shared_ptr<const Atom> atom;
  int power = 1;
};

/// The coefficient times the factors, which are sorted by atom, each atom once.
struct Term {
  std::int64_t coefficient = 0;
  std::vector<Factor> factors;
};
using Terms = std::vector<Term>;

struct Expr::Polynomial {
  Terms terms;            ///< empty if `overflow`
  bool overflow = false;  ///< it never evaluates
  int size = 0;           ///< as Atom::size
  int depth = 0;          ///< the maximum of its atoms
  Interval range;         ///< its possible values

  /// Returns the polynomial of `e`; null if `e` is a constant.
  static const Polynomial* of(const Expr& e) { return e.poly_.get(); }
  static Expr overflowed();  ///< an expression that never evaluates
  /// Returns the expression of sorted terms; overflowed() if it exceeds the limits.
  static Expr make(Terms terms);
  /// Returns e * factor. REQUIRES: `e` is not a constant and does not overflow.
  static Expr scaled(const Expr& e, std::int64_t factor);
  /// Returns the operation as one atom, not simplified; overflowed() if it exceeds the limits.
  static Expr atom(AtomKind kind, const Expr& a, const Expr& b);
  static Expr wrap(Polynomial p) { return Expr(std::make_shared<const Polynomial>(std::move(p))); }
};

/// Return -1, 0 or 1 by a total order; 0 means structurally equal.
int compare(const Expr& a, const Expr& b);
int compare(const Atom& a, const Atom& b);
/// Compares without coefficients, lexicographically: products keep the order, as division needs.
int compare_monomials(const Term& a, const Term& b);

/// Returns whether every symbol that occurs is valid and below `count`.
bool symbols_below(const Expr& e, std::size_t count);
Interval range_of(const Expr& e);  ///< its possible values
Terms terms_of(const Expr& e);     ///< empty for 0, and if it overflows
/// Returns the atom of an expression that is exactly `1 * atom`; null otherwise.
const Atom* as_atom(const Expr& e);

/// Return a + b (a * b), sorted; nullopt if a coefficient does not fit 63 bits.
std::optional<Terms> add(const Terms& a, const Terms& b);
std::optional<Terms> multiply(const Terms& a, const Term& b);
/// Returns a / b for one term each; nullopt unless that is exact.
std::optional<Term> divide(const Term& a, const Term& b);

/// Returns floor(a / b). REQUIRES: b != 0, and not INT64_MIN / -1.
inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
/// Returns the remainder of floor_quotient(), which has the divisor's sign. REQUIRES: as above.
inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace parallax
