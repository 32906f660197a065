#include "ir/expr/expr_polynomial.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace parallax {
namespace {

using Bound = std::optional<std::int64_t>;

Bound add_bounds(Bound a, Bound b) { return a && b ? checked_add(*a, *b) : std::nullopt; }
Bound multiply_bounds(Bound a, Bound b) { return a && b ? checked_mul(*a, *b) : std::nullopt; }

Interval scale(const Interval& x, std::int64_t factor) {
  if (factor >= 0) {
    return {multiply_bounds(x.low, factor), multiply_bounds(x.high, factor)};
  }
  return {multiply_bounds(x.high, factor), multiply_bounds(x.low, factor)};
}

Interval range_of_term(const Term& term) {
  if (term.factors.size() == 1 && term.factors[0].power == 1) {
    return scale(term.factors[0].atom->range, term.coefficient);
  }
  Interval product{1, 1};
  for (const Factor& factor : term.factors) {
    const Interval& one = factor.atom->range;
    if (!one.low || *one.low < 0) return {};
    for (int i = 0; i < factor.power; ++i) {
      product.low = multiply_bounds(product.low, one.low);
      product.high = multiply_bounds(product.high, one.high);
    }
  }
  // A lower bound that overflows would still be >= 0.
  if (!product.low) product.low = 0;
  return scale(product, term.coefficient);
}

Interval range_of_terms(const Terms& terms) {
  Interval sum{0, 0};
  for (const Term& term : terms) {
    const Interval one = range_of_term(term);
    sum.low = add_bounds(sum.low, one.low);
    sum.high = add_bounds(sum.high, one.high);
  }
  return sum;
}

Interval range_of_quotient(const Interval& a, const Interval& b) {
  if (b.low && b.high && *b.low == *b.high && *b.low > 0) {
    Interval result;
    if (a.low) result.low = floor_quotient(*a.low, *b.low);
    if (a.high) result.high = floor_quotient(*a.high, *b.low);
    return result;
  }
  // The divisor is >= 1 wherever the quotient has a value.
  if (a.low && *a.low >= 0 && b.low && *b.low >= 0) return {0, a.high};
  return {};
}

Interval range_of_remainder(const Interval& a, const Interval& b) {
  if (!b.low || *b.low < 0) return {};
  Interval result{0, std::nullopt};
  if (b.high) result.high = *b.high - 1;
  if (a.low && *a.low >= 0 && a.high) {
    result.high = result.high ? std::min(*result.high, *a.high) : *a.high;
  }
  return result;
}

Interval range_of_min(const Interval& a, const Interval& b) {
  Interval result;
  if (a.low && b.low) result.low = std::min(*a.low, *b.low);
  if (a.high && b.high) {
    result.high = std::min(*a.high, *b.high);
  } else {
    result.high = a.high ? a.high : b.high;
  }
  return result;
}

Interval range_of_max(const Interval& a, const Interval& b) {
  Interval result;
  if (a.high && b.high) result.high = std::max(*a.high, *b.high);
  if (a.low && b.low) {
    result.low = std::max(*a.low, *b.low);
  } else {
    result.low = a.low ? a.low : b.low;
  }
  return result;
}

/// Returns the bounds of either operand; those of the larger one if neither can be 0.
Interval range_of_broadcast(const Interval& a, const Interval& b) {
  Interval result;
  if (a.high && b.high) result.high = std::max(*a.high, *b.high);
  if (a.low && b.low) {
    const auto [low, high] = std::minmax(*a.low, *b.low);
    result.low = low >= 1 ? high : low;
  }
  return result;
}

Interval range_of_atom(AtomKind kind, const Expr& a, const Expr& b) {
  const Interval x = range_of(a), y = range_of(b);
  switch (kind) {
    case AtomKind::kSymbol:
      return {0, std::nullopt};
    case AtomKind::kFloorDiv:
      return range_of_quotient(x, y);
    case AtomKind::kMod:
      return range_of_remainder(x, y);
    case AtomKind::kMin:
      return range_of_min(x, y);
    case AtomKind::kMax:
      return range_of_max(x, y);
    case AtomKind::kBroadcast:
      return range_of_broadcast(x, y);
  }
  return {};
}

thread_local std::int64_t terms_gone_through = 0;

void count(std::size_t terms) { terms_gone_through += static_cast<std::int64_t>(terms); }

int depth_of(const Expr& e) {
  const auto* p = Expr::Polynomial::of(e);
  return p == nullptr ? 0 : p->depth;
}

int sign(std::int64_t a, std::int64_t b) { return a < b ? -1 : (a > b ? 1 : 0); }

}  // namespace

std::int64_t expr_terms() { return terms_gone_through; }

Expr Expr::Polynomial::overflowed() {
  static const Expr kOverflow = [] {
    Polynomial p;
    p.overflow = true;
    return wrap(std::move(p));
  }();
  return kOverflow;
}

Expr Expr::Polynomial::make(Terms terms) {
  if (terms.empty()) return Expr(0);
  if (terms.size() == 1 && terms[0].factors.empty()) return Expr(terms[0].coefficient);
  if (terms.size() > kMaxTerms) return overflowed();
  Polynomial p;
  for (const Term& term : terms) {
    ++p.size;
    for (const Factor& factor : term.factors) {
      if (factor.power > kMaxSize) return overflowed();
      p.size += factor.atom->size * factor.power;  // both <= kMaxSize
      p.depth = std::max(p.depth, factor.atom->depth);
      if (p.size > kMaxSize) return overflowed();
    }
  }
  p.range = range_of_terms(terms);
  p.terms = std::move(terms);
  return wrap(std::move(p));
}

Expr Expr::Polynomial::scaled(const Expr& e, std::int64_t factor) {
  if (factor == 0) return Expr(0);
  if (factor == 1) return e;
  Terms terms = of(e)->terms;
  count(terms.size());
  for (Term& term : terms) {
    const auto coefficient = checked_mul(term.coefficient, factor);
    if (!coefficient) return overflowed();
    term.coefficient = *coefficient;
  }
  return make(std::move(terms));
}

Expr Expr::Polynomial::atom(AtomKind kind, const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return overflowed();
  Atom atom;
  atom.kind = kind;
  atom.a = a;
  atom.b = b;
  atom.size = 1 + a.size() + b.size();
  atom.depth = 1 + std::max(depth_of(a), depth_of(b));
  if (atom.size > kMaxSize || atom.depth > kMaxDepth) return overflowed();
  atom.range = range_of_atom(kind, a, b);
  Term term{1, {}};
  term.factors.push_back({std::make_shared<const Atom>(std::move(atom)), 1});
  return make({std::move(term)});
}

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::kSymbol) return sign(a.symbol.value, b.symbol.value);
  if (a.size != b.size) return a.size < b.size ? -1 : 1;
  const int first = compare(a.a, b.a);
  return first != 0 ? first : compare(a.b, b.b);
}

int compare_monomials(const Term& a, const Term& b) {
  const std::size_t n = std::min(a.factors.size(), b.factors.size());
  for (std::size_t i = 0; i < n; ++i) {
    // The monomial that has the smaller atom at all is the greater one.
    const int order = compare(*a.factors[i].atom, *b.factors[i].atom);
    if (order != 0) return -order;
    if (a.factors[i].power != b.factors[i].power) {
      return a.factors[i].power < b.factors[i].power ? -1 : 1;
    }
  }
  return sign(static_cast<std::int64_t>(a.factors.size()),
              static_cast<std::int64_t>(b.factors.size()));
}

int compare(const Expr& a, const Expr& b) {
  const auto* p = Expr::Polynomial::of(a);
  const auto* q = Expr::Polynomial::of(b);
  if (p == q) return p == nullptr ? sign(*a.constant(), *b.constant()) : 0;
  if (p == nullptr || q == nullptr) return p == nullptr ? -1 : 1;
  if (p->terms.size() != q->terms.size()) return p->terms.size() < q->terms.size() ? -1 : 1;
  for (std::size_t i = 0; i < p->terms.size(); ++i) {
    const int order = compare_monomials(p->terms[i], q->terms[i]);
    if (order != 0) return order;
    const int coefficients = sign(p->terms[i].coefficient, q->terms[i].coefficient);
    if (coefficients != 0) return coefficients;
  }
  return 0;
}

bool symbols_below(const Expr& e, std::size_t count) {
  const auto* p = Expr::Polynomial::of(e);
  if (p == nullptr) return true;
  for (const Term& term : p->terms) {
    for (const Factor& factor : term.factors) {
      const Atom& atom = *factor.atom;
      if (atom.kind == AtomKind::kSymbol) {
        if (!atom.symbol.valid() || static_cast<std::size_t>(atom.symbol.value) >= count)
          return false;
      } else if (!symbols_below(atom.a, count) || !symbols_below(atom.b, count)) {
        return false;
      }
    }
  }
  return true;
}

Interval range_of(const Expr& e) {
  if (const auto* p = Expr::Polynomial::of(e)) return p->range;
  return {e.constant(), e.constant()};
}

Terms terms_of(const Expr& e) {
  if (const auto* p = Expr::Polynomial::of(e)) return p->terms;
  if (*e.constant() == 0) return {};
  return {Term{*e.constant(), {}}};
}

const Atom* as_atom(const Expr& e) {
  const auto* p = Expr::Polynomial::of(e);
  if (p == nullptr || p->terms.size() != 1) return nullptr;
  const Term& term = p->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1 || term.factors[0].power != 1) {
    return nullptr;
  }
  return term.factors[0].atom.get();
}

std::optional<Terms> add(const Terms& a, const Terms& b) {
  count(a.size() + b.size());
  Terms result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const int order = compare_monomials(a[i], b[j]);
    if (order > 0) {
      result.push_back(a[i++]);
    } else if (order < 0) {
      result.push_back(b[j++]);
    } else {
      const auto sum = checked_add(a[i].coefficient, b[j].coefficient);
      if (!sum) return std::nullopt;
      if (*sum != 0) result.push_back({*sum, a[i].factors});
      ++i;
      ++j;
    }
  }
  result.insert(result.end(), a.begin() + static_cast<std::ptrdiff_t>(i), a.end());
  result.insert(result.end(), b.begin() + static_cast<std::ptrdiff_t>(j), b.end());
  return result;
}

namespace {

std::vector<Factor> multiply(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  std::vector<Factor> result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const int order = compare(*a[i].atom, *b[j].atom);
    if (order < 0) {
      result.push_back(a[i++]);
    } else if (order > 0) {
      result.push_back(b[j++]);
    } else {
      result.push_back({a[i].atom, a[i].power + b[j].power});
      ++i;
      ++j;
    }
  }
  result.insert(result.end(), a.begin() + static_cast<std::ptrdiff_t>(i), a.end());
  result.insert(result.end(), b.begin() + static_cast<std::ptrdiff_t>(j), b.end());
  return result;
}

}  // namespace

std::optional<Terms> multiply(const Terms& a, const Term& b) {
  count(a.size());
  Terms result;
  result.reserve(a.size());
  for (const Term& term : a) {
    const auto coefficient = checked_mul(term.coefficient, b.coefficient);
    if (!coefficient) return std::nullopt;
    result.push_back({*coefficient, multiply(term.factors, b.factors)});
  }
  return result;
}

std::optional<Term> divide(const Term& a, const Term& b) {
  if (b.coefficient == -1 && a.coefficient == std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  Term result{a.coefficient / b.coefficient, {}};
  std::size_t j = 0;
  for (const Factor& factor : a.factors) {
    int power = factor.power;
    if (j < b.factors.size() && compare(*factor.atom, *b.factors[j].atom) == 0) {
      power -= b.factors[j++].power;
      if (power < 0) return std::nullopt;
    }
    if (power > 0) result.factors.push_back({factor.atom, power});
  }
  if (j != b.factors.size()) return std::nullopt;
  return result;
}

}  // namespace parallax
