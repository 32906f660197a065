#include "kernels/cpu/elementwise/logic_loops.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/logic_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::ScalableTag<std::uint8_t>;
/// As many bytes as a vector has floats.
using FlagTag = hn::Rebind<std::uint8_t, FloatTag>;
using WordTag = hn::RebindToSigned<FloatTag>;

/// Elements of an operand, or one again and again; `n` of them, the rest zeros.
template <class D>
struct LogicOperand {
  const hn::TFromD<D>* p;
  bool single;
  LogicOperand(const LogicRow& row, std::size_t i)
      : p(reinterpret_cast<const hn::TFromD<D>*>(row.operands[i])),
        single(((row.single >> i) & 1U) != 0) {}
  HWY_INLINE hn::Vec<D> at(std::size_t i, std::size_t n) const {
    const D d;
    if (single) return hn::Set(d, *p);
    if (n >= hn::Lanes(d)) return hn::LoadU(d, p + i);
    HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())] = {};
    for (std::size_t k = 0; k < n; ++k) buffer[k] = p[i + k];
    return hn::Load(d, buffer);
  }
};

/// Writes f(i, elements left) for each vector of the tag.
template <class D, class F>
HWY_INLINE void write_logic(const LogicRow& row, F f) {
  const D d;
  auto* y = reinterpret_cast<hn::TFromD<D>*>(row.y);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= row.n; i += lanes) hn::StoreU(f(i, lanes), d, y + i);
  if (i == row.n) return;
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())];
  hn::Store(f(i, row.n - i), d, buffer);
  for (std::size_t k = 0; i + k < row.n; ++k) y[i + k] = buffer[k];
}

template <class F>
HWY_INLINE void compare_row(const LogicRow& row, F f) {
  const LogicOperand<FloatTag> a(row, 0), b(row, 1);
  write_logic<FlagTag>(row, [=](std::size_t i, std::size_t n) HWY_ATTR {
    const auto mask = hn::RebindMask(WordTag(), f(a.at(i, n), b.at(i, n)));
    return hn::DemoteTo(FlagTag(), hn::IfThenElseZero(mask, hn::Set(WordTag(), 1)));
  });
}

template <class F>
HWY_INLINE void logic_row(const LogicRow& row, F f) {
  const LogicOperand<ByteTag> a(row, 0);
  const LogicOperand<ByteTag> b(row, row.operands[1] == nullptr ? 0 : 1);
  write_logic<ByteTag>(row, [=](std::size_t i, std::size_t n) HWY_ATTR {
    const auto one = hn::Set(ByteTag(), 1);
    return f(hn::Min(a.at(i, n), one), hn::Min(b.at(i, n), one));
  });
}

HWY_INLINE void choose_row(const LogicRow& row) {
  const LogicOperand<FlagTag> condition(row, 0);
  const LogicOperand<FloatTag> yes(row, 1), no(row, 2);
  write_logic<FloatTag>(row, [=](std::size_t i, std::size_t n) HWY_ATTR {
    const auto flags = hn::PromoteTo(WordTag(), condition.at(i, n));
    const auto mask = hn::RebindMask(FloatTag(), hn::Ne(flags, hn::Zero(WordTag())));
    return hn::IfThenElse(mask, yes.at(i, n), no.at(i, n));
  });
}

}  // namespace

void logic(LogicFunction f, const LogicRow& row) {
  switch (f) {
    case LogicFunction::kEqual:
      return compare_row(row, [](auto a, auto b) HWY_ATTR { return hn::Eq(a, b); });
    case LogicFunction::kLess:
      return compare_row(row, [](auto a, auto b) HWY_ATTR { return hn::Lt(a, b); });
    case LogicFunction::kLessOrEqual:
      return compare_row(row, [](auto a, auto b) HWY_ATTR { return hn::Le(a, b); });
    case LogicFunction::kGreater:
      return compare_row(row, [](auto a, auto b) HWY_ATTR { return hn::Lt(b, a); });
    case LogicFunction::kGreaterOrEqual:
      return compare_row(row, [](auto a, auto b) HWY_ATTR { return hn::Le(b, a); });
    case LogicFunction::kAnd:
      return logic_row(row, [](auto a, auto b) HWY_ATTR { return hn::And(a, b); });
    case LogicFunction::kOr:
      return logic_row(row, [](auto a, auto b) HWY_ATTR { return hn::Or(a, b); });
    case LogicFunction::kNot:
      return logic_row(row,
                       [](auto a, auto) HWY_ATTR { return hn::Xor(a, hn::Set(ByteTag(), 1)); });
    case LogicFunction::kWhere:
      return choose_row(row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(logic);

void apply_logic(LogicFunction f, const LogicRow& row) { HWY_DYNAMIC_DISPATCH(logic)(f, row); }

}  // namespace parallax
#endif  // HWY_ONCE
