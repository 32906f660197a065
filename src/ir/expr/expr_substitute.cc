#include "ir/expr/expr_broadcast.h"
#include "ir/expr/expr_polynomial.h"
#include "ir/graph.h"

namespace parallax {
namespace {

/// A symbol to this power does not come from dimensions.
constexpr int kMaxPower = 64;

Expr too_complex() { return floor_div(Expr(1), Expr(0)); }

Expr substitute_atom(const Atom& atom, const std::function<Expr(SymbolId)>& replacement) {
  if (atom.kind == AtomKind::kSymbol) return replacement(atom.symbol);
  const Expr a = substitute(atom.a, replacement);
  const Expr b = substitute(atom.b, replacement);
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
      return floor_div(a, b);
    case AtomKind::kMod:
      return mod(a, b);
    case AtomKind::kMin:
      return min(a, b);
    case AtomKind::kMax:
      return max(a, b);
    default:
      return broadcast(a, b);
  }
}

}  // namespace

Expr substitute(const Expr& e, const std::function<Expr(SymbolId)>& replacement) {
  const auto* polynomial = Expr::Polynomial::of(e);
  if (polynomial == nullptr || polynomial->overflow) return e;
  Expr sum = 0;
  for (const Term& term : polynomial->terms) {
    Expr product = term.coefficient;
    for (const Factor& factor : term.factors) {
      if (factor.power > kMaxPower) return too_complex();
      const Expr atom = substitute_atom(*factor.atom, replacement);
      for (int i = 0; i < factor.power; ++i) product = product * atom;
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace parallax
