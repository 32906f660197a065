// Rules of operators that reduce axes.
#include <array>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

Attributes kept(TfliteOperator& o) {
  return attributes_of({{"keepdims", std::int64_t{o.options<schema::ReducerOptions>().keep_dims()}},
                        {"noop_with_empty_axes", std::int64_t{1}}});
}

/// A list of axes; a scalar is a list of one.
ValueId axes(TfliteOperator& o) {
  const auto known = o.known_ints(1);
  return known ? o.ints(*known) : o.as_i64(1);
}

template <OpKind kKind>
void reduce(TfliteOperator& o) {
  o.result(o.op(kKind, {o.need(0), axes(o)}, kept(o)));
}

/// All bools is their minimum, any bool their maximum.
template <OpKind kKind>
void reduce_bools(TfliteOperator& o) {
  const ValueId numbers = o.cast(o.need(0), DType::kU8);
  o.result(o.cast(o.op(kKind, {numbers, axes(o)}, kept(o)), DType::kBool));
}

template <OpKind kKind>
void arg(TfliteOperator& o) {
  const auto axis = o.need_ints(1, "the axis");
  if (o.failed()) return;
  if (axis.size() != 1) return o.invalid("one axis is needed");
  const ValueId indices =
      o.op(kKind, {o.need(0)}, with_axis(axis[0], {{"keepdims", std::int64_t{0}}}));
  o.result(o.cast_to(indices, o.output_type(0).value_or(DType::kI64)));
}

/// x over its length along the last axis, which counts as 1e-6 at least.
void l2_normalization(TfliteOperator& o) {
  const ValueId x = o.need(0);
  const ValueId length = o.reduce(OpKind::kReduceL2, x, {-1});
  o.activated(o.div(x, o.at_least(length, 1e-6)),
              o.options<schema::L2NormOptions>().fused_activation_function());
}

void cumsum(TfliteOperator& o) {
  const auto& options = o.options<schema::CumsumOptions>();
  o.result(o.op(OpKind::kCumSum, {o.need(0), o.need(1)},
                attributes_of({{"exclusive", std::int64_t{options.exclusive()}},
                               {"reverse", std::int64_t{options.reverse()}}})));
}

void add_n(TfliteOperator& o) {
  ValueId sum = o.need(0);
  for (std::size_t i = 1; i < o.inputs(); ++i) sum = o.add(sum, o.need(i));
  o.result(sum);
}

constexpr std::array kReductionRules = {
    TfliteRule{Code::ADD_N, add_n},
    TfliteRule{Code::ARG_MAX, arg<OpKind::kArgMax>},
    TfliteRule{Code::ARG_MIN, arg<OpKind::kArgMin>},
    TfliteRule{Code::CUMSUM, cumsum},
    TfliteRule{Code::L2_NORMALIZATION, l2_normalization},
    TfliteRule{Code::MEAN, reduce<OpKind::kReduceMean>},
    TfliteRule{Code::REDUCE_ALL, reduce_bools<OpKind::kReduceMin>},
    TfliteRule{Code::REDUCE_ANY, reduce_bools<OpKind::kReduceMax>},
    TfliteRule{Code::REDUCE_MAX, reduce<OpKind::kReduceMax>},
    TfliteRule{Code::REDUCE_MIN, reduce<OpKind::kReduceMin>},
    TfliteRule{Code::REDUCE_PROD, reduce<OpKind::kReduceProd>},
    TfliteRule{Code::SUM, reduce<OpKind::kReduceSum>},
};

}  // namespace

std::span<const TfliteRule> tflite_reduction_rules() { return kReductionRules; }

}  // namespace parallax
