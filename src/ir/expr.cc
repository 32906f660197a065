#include "ir/expr.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "ir/expr/expr_polynomial.h"

namespace parallax {

using Polynomial = Expr::Polynomial;

Expr::Expr(std::int64_t constant) : constant_(constant) {}
Expr::Expr(std::shared_ptr<const Polynomial> p) : poly_(std::move(p)) {}

Expr Expr::symbol(SymbolId id) {
  Atom atom;
  atom.symbol = id;
  atom.range = {0, std::nullopt};
  Term term{1, {}};
  term.factors.push_back({std::make_shared<const Atom>(std::move(atom)), 1});
  return Polynomial::make({std::move(term)});
}

std::optional<std::int64_t> Expr::constant() const {
  if (poly_ != nullptr) return std::nullopt;
  return constant_;
}

std::optional<std::int64_t> Expr::lower_bound() const {
  return poly_ == nullptr ? constant_ : poly_->range.low;
}

int Expr::size() const { return poly_ == nullptr ? 1 : poly_->size; }

bool Expr::overflow() const { return poly_ != nullptr && poly_->overflow; }

namespace {

void collect_symbols(const Expr& e, std::vector<SymbolId>& result) {
  const auto* p = Polynomial::of(e);
  if (p == nullptr) return;
  for (const Term& term : p->terms) {
    for (const Factor& factor : term.factors) {
      if (factor.atom->kind == AtomKind::kSymbol) result.push_back(factor.atom->symbol);
      collect_symbols(factor.atom->a, result);
      collect_symbols(factor.atom->b, result);
    }
  }
}

using Values = std::span<const std::optional<std::int64_t>>;

std::optional<std::int64_t> evaluate_atom(const Atom& atom, Values values) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto index = static_cast<std::size_t>(atom.symbol.value);
    return index < values.size() ? values[index] : std::nullopt;
  }
  const auto a = atom.a.evaluate(values), b = atom.b.evaluate(values);
  if (!a || !b) return std::nullopt;
  switch (atom.kind) {
    case AtomKind::kMin:
      return std::min(*a, *b);
    case AtomKind::kMax:
      return std::max(*a, *b);
    case AtomKind::kBroadcast:
      if (*a == *b || *b == 1) return a;
      return *a == 1 ? b : std::nullopt;
    default:
      break;
  }
  if (*b == 0 || (*b == -1 && *a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  return atom.kind == AtomKind::kFloorDiv ? floor_quotient(*a, *b) : floor_remainder(*a, *b);
}

std::string atom_to_string(const Atom& atom, std::span<const std::string> names) {
  const auto call = [&](const char* function) {
    return std::string(function) + "(" + atom.a.to_string(names) + ", " + atom.b.to_string(names) +
           ")";
  };
  switch (atom.kind) {
    case AtomKind::kSymbol: {
      const auto index = static_cast<std::size_t>(atom.symbol.value);
      return index < names.size() ? names[index] : "symbol_" + std::to_string(atom.symbol.value);
    }
    case AtomKind::kFloorDiv:
      return call("floor_div");
    case AtomKind::kMod:
      return call("mod");
    case AtomKind::kMin:
      return call("min");
    case AtomKind::kMax:
      return call("max");
    case AtomKind::kBroadcast:
      return call("broadcast");
  }
  return {};
}

/// "2*seq" without its sign.
std::string term_to_string(const Term& term, std::span<const std::string> names) {
  std::string text = std::to_string(term.coefficient);
  if (term.coefficient < 0) text.erase(0, 1);
  if (term.factors.empty()) return text;
  if (text == "1") text.clear();
  for (const Factor& factor : term.factors) {
    const std::string atom = atom_to_string(*factor.atom, names);
    for (int i = 0; i < factor.power; ++i) {
      if (!text.empty()) text += '*';
      text += atom;
    }
  }
  return text;
}

}  // namespace

std::vector<SymbolId> Expr::symbols() const {
  std::vector<SymbolId> result;
  collect_symbols(*this, result);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::optional<std::int64_t> Expr::evaluate(Values values) const {
  if (poly_ == nullptr) return constant_;
  if (poly_->overflow) return std::nullopt;
  std::int64_t sum = 0;
  for (const Term& term : poly_->terms) {
    std::optional<std::int64_t> product = term.coefficient;
    for (const Factor& factor : term.factors) {
      const auto atom = evaluate_atom(*factor.atom, values);
      if (!atom) return std::nullopt;
      for (int i = 0; i < factor.power && product; ++i) product = checked_mul(*product, *atom);
      if (!product) return std::nullopt;
    }
    const auto next = checked_add(sum, *product);
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

std::string Expr::to_string(std::span<const std::string> names) const {
  if (poly_ == nullptr) return std::to_string(constant_);
  if (poly_->overflow) return "overflow";
  std::string text;
  for (const Term& term : poly_->terms) {
    const bool negative = term.coefficient < 0;
    if (text.empty()) {
      text = negative ? "-" : "";
    } else {
      text += negative ? " - " : " + ";
    }
    text += term_to_string(term, names);
  }
  return text;
}

Expr operator+(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) {
    const auto sum = checked_add(a.constant_, b.constant_);
    return sum ? Expr(*sum) : Polynomial::overflowed();
  }
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  if (a.constant() == 0) return b;
  if (b.constant() == 0) return a;
  auto terms = add(terms_of(a), terms_of(b));
  return terms ? Polynomial::make(std::move(*terms)) : Polynomial::overflowed();
}

Expr operator-(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) {
    const auto difference = checked_sub(a.constant_, b.constant_);
    return difference ? Expr(*difference) : Polynomial::overflowed();
  }
  if (b.constant() == std::numeric_limits<std::int64_t>::min()) {
    // -b alone does not fit, a - b might.
    return (a + Expr(std::numeric_limits<std::int64_t>::max())) + Expr(1);
  }
  return a + Expr(-1) * b;
}

Expr operator*(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) {
    const auto product = checked_mul(a.constant_, b.constant_);
    return product ? Expr(*product) : Polynomial::overflowed();
  }
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  if (a.poly_ == nullptr) return Polynomial::scaled(b, a.constant_);
  if (b.poly_ == nullptr) return Polynomial::scaled(a, b.constant_);
  Terms result;
  for (const Term& term : b.poly_->terms) {
    auto product = multiply(a.poly_->terms, term);
    auto sum = product && !result.empty() ? add(result, *product) : std::move(product);
    if (!sum || sum->size() > 4 * kMaxTerms) return Polynomial::overflowed();
    result = std::move(*sum);
  }
  return Polynomial::make(std::move(result));
}

namespace {

/// -1 where a <= b is known, 1 where a >= b is, 0 where neither.
int order_of(const Expr& a, const Expr& b) {
  // Every value fits 63 bits, so the ends of the range need no proof.
  const auto is = [](const Expr& e, std::int64_t end) { return e.constant() == end; };
  if (is(b, std::numeric_limits<std::int64_t>::max())) return -1;
  if (is(a, std::numeric_limits<std::int64_t>::max())) return 1;
  if (is(b, std::numeric_limits<std::int64_t>::min())) return 1;
  if (is(a, std::numeric_limits<std::int64_t>::min())) return -1;
  const Interval difference = range_of(a - b);
  if (difference.high && *difference.high <= 0) return -1;
  if (difference.low && *difference.low >= 0) return 1;
  const Interval x = range_of(a), y = range_of(b);
  if (x.high && y.low && *x.high <= *y.low) return -1;
  if (x.low && y.high && *x.low >= *y.high) return 1;
  return 0;
}

/// `a` is min(..., b) or max(..., b): the simpler form of kind(a, b), if there is one.
std::optional<Expr> absorb(AtomKind kind, const Expr& a, const Expr& b) {
  const Atom* atom = as_atom(a);
  if (atom == nullptr || (atom->kind != AtomKind::kMin && atom->kind != AtomKind::kMax)) {
    return std::nullopt;
  }
  if (atom->a == b || atom->b == b) return atom->kind == kind ? a : b;
  // Constants meet: min(min(c, x), d) = min(min(c, d), x).
  if (atom->kind == kind && b.constant() && atom->a.constant()) {
    const Expr both = kind == AtomKind::kMin ? min(atom->a, b) : max(atom->a, b);
    return kind == AtomKind::kMin ? min(both, atom->b) : max(both, atom->b);
  }
  return std::nullopt;
}

Expr select(AtomKind kind, const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return Polynomial::overflowed();
  if (a == b) return a;
  const int order = order_of(a, b);
  if (order != 0) return (order < 0) == (kind == AtomKind::kMin) ? a : b;
  if (const auto simpler = absorb(kind, a, b)) return *simpler;
  if (const auto simpler = absorb(kind, b, a)) return *simpler;
  return compare(a, b) < 0 ? Polynomial::atom(kind, a, b) : Polynomial::atom(kind, b, a);
}

}  // namespace

Expr min(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) return std::min(a.constant_, b.constant_);
  return select(AtomKind::kMin, a, b);
}

Expr max(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) return std::max(a.constant_, b.constant_);
  return select(AtomKind::kMax, a, b);
}

bool operator==(const Expr& a, const Expr& b) {
  if (a.poly_ == nullptr && b.poly_ == nullptr) return a.constant_ == b.constant_;
  // An expression without a value equals nothing, itself included.
  if (a.overflow() || b.overflow()) return false;
  return compare(a, b) == 0;
}

}  // namespace parallax
