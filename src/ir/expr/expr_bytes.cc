#include "ir/expr/expr_bytes.h"

#include <limits>
#include <utility>

#include "ir/expr/expr_broadcast.h"
#include "ir/expr/expr_polynomial.h"

namespace parallax {
namespace {

using Polynomial = Expr::Polynomial;

// First number of an expression: a constant follows, a new expression follows, or it is kOld plus
// the number of an earlier one.
constexpr std::uint64_t kConstant = 0, kNew = 1, kOld = 2;

}  // namespace

bool ExprWriter::Less::operator()(const Expr& a, const Expr& b) const { return compare(a, b) < 0; }

void ExprWriter::write(const Expr& e) {
  if (const auto constant = e.constant()) {
    out_.number(kConstant);
    return out_.integer(*constant);
  }
  const auto known = known_.find(Polynomial::of(e));
  if (known != known_.end()) return out_.number(known->second + kOld);
  auto number = numbers_.find(e);
  if (number != numbers_.end()) {
    out_.number(number->second + kOld);
  } else {
    out_.number(kNew);
    define(e);
    number = numbers_.emplace(e, numbers_.size()).first;
  }
  known_.emplace(Polynomial::of(e), number->second);
}

/// Terms; none for what never evaluates.
void ExprWriter::define(const Expr& e) {
  const Polynomial& p = *Polynomial::of(e);
  out_.number(p.terms.size());
  for (const Term& term : p.terms) {
    out_.integer(term.coefficient);
    out_.number(term.factors.size());
    for (const Factor& factor : term.factors) {
      const Atom& atom = *factor.atom;
      out_.number(static_cast<std::uint64_t>(factor.power));
      out_.number(static_cast<std::uint64_t>(atom.kind));
      if (atom.kind == AtomKind::kSymbol) {
        out_.number(static_cast<std::uint64_t>(atom.symbol.value));
      } else {
        write(atom.a);
        write(atom.b);
      }
    }
  }
}

Expr ExprReader::read(int depth) {
  const std::uint64_t head = in_.number();
  if (head == kConstant) return in_.integer();
  if (head >= kOld) {
    if (head - kOld < read_.size()) return read_[head - kOld];
    in_.fail();
    return 0;
  }
  // An atom has one more level than what is in it.
  if (depth > kMaxDepth) {
    in_.fail();
    return 0;
  }
  Expr e = define(depth);
  read_.push_back(e);
  return e;
}

/// An expression that is one atom.
Expr ExprReader::atom(int depth) {
  const auto kind = static_cast<AtomKind>(in_.below(static_cast<int>(kLastAtomKind) + 1));
  if (kind == AtomKind::kSymbol) {
    const auto symbol = in_.below(std::numeric_limits<std::int32_t>::max());
    return Expr::symbol(SymbolId{static_cast<std::int32_t>(symbol)});
  }
  const Expr a = read(depth + 1);
  const Expr b = read(depth + 1);
  // Operands of min and max stand in order.
  const bool sorted = kind == AtomKind::kMin || kind == AtomKind::kMax;
  if (sorted && compare(a, b) >= 0) in_.fail();
  Expr e = Polynomial::atom(kind, a, b);
  if (kind == AtomKind::kBroadcast && !(broadcast(a, b) == e)) in_.fail();
  return e;
}

Expr ExprReader::define(int depth) {
  Terms terms;
  const std::size_t count = in_.count();
  if (count > kMaxTerms) in_.fail();
  for (std::size_t i = 0; i < count && in_.ok(); ++i) {
    Term term{in_.integer(), {}};
    const std::size_t factors = in_.count();
    for (std::size_t k = 0; k < factors && in_.ok(); ++k) {
      const auto power = static_cast<int>(in_.below(kMaxSize + 1));
      const Expr one = atom(depth);
      if (power == 0 || one.overflow()) in_.fail();
      if (!in_.ok()) break;
      term.factors.push_back({Polynomial::of(one)->terms[0].factors[0].atom, power});
      const std::size_t n = term.factors.size();
      if (n > 1 && compare(*term.factors[n - 2].atom, *term.factors[n - 1].atom) >= 0) in_.fail();
    }
    if (term.coefficient == 0 || (i > 0 && compare_monomials(terms.back(), term) <= 0)) in_.fail();
    terms.push_back(std::move(term));
  }
  if (!in_.ok()) return 0;
  if (terms.empty()) return Polynomial::overflowed();
  Expr e = Polynomial::make(std::move(terms));
  // Constants are written as such, and what is too large was never made.
  if (e.constant() || e.overflow()) in_.fail();
  return e;
}

}  // namespace parallax
