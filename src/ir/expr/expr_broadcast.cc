#include "ir/expr/expr_broadcast.h"

#include <algorithm>
#include <span>

#include "ir/expr/expr_polynomial.h"

namespace parallax {
namespace {

using Polynomial = Expr::Polynomial;

/// Appends the operands of the broadcast `e`, or `e` itself if it is not a broadcast.
void collect(const Expr& e, std::vector<Expr>& operands) {
  const Atom* atom = as_atom(e);
  if (atom == nullptr || atom->kind != AtomKind::kBroadcast) {
    if (e.constant() != 1) operands.push_back(e);
    return;
  }
  collect(atom->a, operands);
  collect(atom->b, operands);
}

/// Whether broadcast(x, min(x, limit)) is x where it has a value: another minimum is the limit and
/// less than x, so it must be 1. Models cut x elements off a table of positions and add them to x
/// others.
bool adds_nothing(const Expr& minimum, const Expr& x) {
  const Atom* atom = as_atom(minimum);
  if (atom == nullptr || atom->kind != AtomKind::kMin) return false;
  const auto positive = [](const Expr& limit) { return limit.lower_bound().value_or(0) >= 1; };
  return (atom->a == x && positive(atom->b)) || (atom->b == x && positive(atom->a));
}

/// A balanced tree, so that its depth stays small however many dimensions meet.
Expr tree(std::span<const Expr> operands) {
  if (operands.size() == 1) return operands[0];
  const std::size_t half = operands.size() / 2;
  return Polynomial::atom(AtomKind::kBroadcast, tree(operands.first(half)),
                          tree(operands.subspan(half)));
}

}  // namespace

Expr broadcast(const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  std::vector<Expr> operands;
  collect(a, operands);
  collect(b, operands);
  if (operands.empty()) return 1;
  // Symbols in the order in which they were made, constants last.
  std::ranges::sort(operands, [](const Expr& x, const Expr& y) { return compare(x, y) > 0; });
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  std::erase_if(operands, [all = operands](const Expr& e) {
    return std::ranges::any_of(all, [&e](const Expr& x) { return adds_nothing(e, x); });
  });
  if (!operands.back().constant()) return tree(operands);
  const bool differ = operands.size() > 1 && operands[operands.size() - 2].constant();
  return differ ? Polynomial::overflowed() : operands.back();
}

}  // namespace parallax
