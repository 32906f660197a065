// floor_div, ceil_div and mod in normal form.
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "ir/expr/expr_polynomial.h"

namespace parallax {
namespace {

using Polynomial = Expr::Polynomial;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

/// Divides by the leading term of `b`, term by term; nullopt if a remainder is left.
std::optional<Expr> divide_exactly(const Expr& a, const Expr& b) {
  const Terms divisor = terms_of(b);
  Terms rest = terms_of(a), quotient;
  while (!rest.empty()) {
    const auto term = divide(rest.front(), divisor.front());
    if (!term || quotient.size() == kMaxTerms || term->coefficient == kLowest) return std::nullopt;
    const auto product = multiply(divisor, {-term->coefficient, term->factors});
    if (!product) return std::nullopt;
    auto next = add(rest, *product);
    if (!next || next->size() > 2 * kMaxTerms) return std::nullopt;
    rest = std::move(*next);
    quotient.push_back(*term);  // leading terms descend, so the quotient is sorted
  }
  return Polynomial::make(std::move(quotient));
}

/// a == d * quotient + remainder with all coefficients of the remainder in [0, d).
struct Split {
  Terms quotient, remainder;
  std::int64_t common = 0;  ///< gcd of d and of the remainder's coefficients but the constant one
};

Split split_by(const Expr& a, std::int64_t d) {
  Split split;
  split.common = d;
  for (Term& term : terms_of(a)) {
    const std::int64_t q = floor_quotient(term.coefficient, d);
    const std::int64_t m = floor_remainder(term.coefficient, d);
    if (q != 0) split.quotient.push_back({q, term.factors});
    if (m == 0) continue;
    if (!term.factors.empty()) split.common = std::gcd(split.common, m);
    split.remainder.push_back({m, std::move(term.factors)});
  }
  return split;
}

/// The remainder over `common`, its constant rounded down; `lost` is what the rounding took.
Expr reduce(Split& split, std::int64_t& lost) {
  lost = 0;
  Terms reduced;
  for (Term& term : split.remainder) {
    if (term.factors.empty()) lost = term.coefficient % split.common;
    term.coefficient /= split.common;
    if (term.coefficient != 0) reduced.push_back(std::move(term));
  }
  return Polynomial::make(std::move(reduced));
}

/// floor((floor(x / e) + k) / d) = floor((x + k * e) / (d * e)).
std::optional<Expr> merge_quotients(const Expr& a, std::int64_t d) {
  Terms terms = terms_of(a);
  std::int64_t k = 0;
  if (terms.size() == 2 && terms[1].factors.empty()) {
    k = terms[1].coefficient;
    terms.pop_back();
  }
  const Expr rest = Polynomial::make(std::move(terms));
  const Atom* atom = as_atom(rest);
  if (atom == nullptr || atom->kind != AtomKind::kFloorDiv) return std::nullopt;
  const auto e = atom->b.constant();
  if (!e || *e <= 0) return std::nullopt;
  const auto both = checked_mul(*e, d);
  if (!both) return std::nullopt;
  return floor_div(atom->a + Expr(k) * Expr(*e), Expr(*both));
}

Expr floor_div_by(const Expr& a, std::int64_t d) {
  Split split = split_by(a, d);
  const Expr quotient = Polynomial::make(std::move(split.quotient));
  std::int64_t lost = 0;
  const Expr rest = reduce(split, lost);
  d /= split.common;
  const Interval range = range_of(rest);
  if (range.low && range.high && floor_quotient(*range.low, d) == floor_quotient(*range.high, d)) {
    return quotient + Expr(floor_quotient(*range.low, d));
  }
  if (const auto merged = merge_quotients(rest, d)) return quotient + *merged;
  return quotient + Polynomial::atom(AtomKind::kFloorDiv, rest, d);
}

Expr mod_by(const Expr& a, std::int64_t d) {
  Split split = split_by(a, d);
  std::int64_t lost = 0;
  const Expr rest = reduce(split, lost);
  d /= split.common;
  const Interval range = range_of(rest);
  const bool inside = range.low && range.high && *range.low >= 0 && *range.high < d;
  const Expr remainder = inside ? rest : Polynomial::atom(AtomKind::kMod, rest, d);
  return remainder * Expr(split.common) + Expr(lost);
}

}  // namespace

Expr floor_div(const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  if (const auto d = b.constant()) {
    if (*d == 0 || *d == kLowest) return Polynomial::overflowed();
    if (*d < 0) return floor_div(Expr(0) - a, Expr(-*d));
    if (const auto c = a.constant()) return floor_quotient(*c, *d);
    return *d == 1 ? a : floor_div_by(a, *d);
  }
  if (const auto exact = divide_exactly(a, b)) return *exact;
  const Terms divisor = terms_of(b);
  if (divisor.size() != 1) return Polynomial::atom(AtomKind::kFloorDiv, a, b);
  // floor((b * q + r) / b) = q + floor(r / b)
  Terms quotient, rest;
  for (Term& term : terms_of(a)) {
    if (auto exact = divide(term, divisor[0])) {
      quotient.push_back(std::move(*exact));
    } else {
      rest.push_back(std::move(term));
    }
  }
  const Expr remainder = Polynomial::make(std::move(rest));
  Expr whole = Polynomial::make(std::move(quotient));
  const Interval r = range_of(remainder), range = range_of(b);
  if (r.low && r.high && range.low && *r.low >= 0 && *r.high < *range.low) return whole;
  return whole + Polynomial::atom(AtomKind::kFloorDiv, remainder, b);
}

Expr ceil_div(const Expr& a, const Expr& b) {
  const auto c = a.constant(), d = b.constant();
  if (c && d && *d != 0) {
    const Expr rounding = floor_remainder(*c, *d) == 0 ? 0 : 1;
    return floor_div(a, b) + rounding;
  }
  if (d && *d > 0) return floor_div(a + Expr(*d - 1), b);
  return Expr(0) - floor_div(Expr(0) - a, b);
}

Expr mod(const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  if (const auto d = b.constant()) {
    if (*d == 0 || *d == kLowest) return Polynomial::overflowed();
    if (*d < 0) return Expr(0) - mod(Expr(0) - a, Expr(-*d));
    if (const auto c = a.constant()) return floor_remainder(*c, *d);
    return *d == 1 ? Expr(0) : mod_by(a, *d);
  }
  if (divide_exactly(a, b)) return Expr(0);
  const Interval r = range_of(a), range = range_of(b);
  if (r.low && r.high && range.low && *r.low >= 0 && *r.high < *range.low) return a;
  return Polynomial::atom(AtomKind::kMod, a, b);
}

}  // namespace parallax
