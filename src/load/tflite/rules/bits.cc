// Rules of operators on the bits of numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// Elements of another type of the same width.
void bitcast(TfliteOperator& o) {
  const auto dtype = o.output_type(0);
  const DType from = o.dtype(o.need(0));
  if (o.failed()) return;
  if (!dtype || info_of(*dtype).bits != info_of(from).bits)
    return o.refuse("a type of another width is not supported");
  o.result(o.op(OpKind::kBitCast, {o.need(0)},
                attributes_of({{"to", std::int64_t{info_of(*dtype).onnx}}})));
}

/// The amount counts as 0 up to one less than the width. A signed number repeats its sign, also for
/// a larger amount.
void right_shift(TfliteOperator& o) {
  ValueId amount = o.need(1);
  const DTypeInfo& type = info_of(o.dtype(amount));
  if (type.kind == DTypeClass::kSigned)
    amount = o.at_least(amount, 0);
  else
    amount = o.op(OpKind::kMin, {amount, o.number(static_cast<double>(type.bits - 1), amount)});
  o.result(o.op(OpKind::kBitShift, {o.need(0), amount},
                attributes_of({{"direction", std::string("RIGHT")}})));
}

/// Rounds to 2 ^ bits numbers between limits, which move so that one of the numbers is 0.
void fake_quant(TfliteOperator& o) {
  const auto& options = o.options<schema::FakeQuantOptions>();
  const std::int32_t bits = options.num_bits();
  const float low = options.min(), high = options.max();
  if (bits < 2 || bits > 16 || !(low < high) || !std::isfinite(high - low) || low > 0 || high < 0)
    return o.invalid("its options are wrong");
  const float first = options.narrow_range() ? 1.0F : 0.0F;
  const auto last = static_cast<float>((1 << bits) - 1);
  const float scale = (high - low) / (last - first);
  const float zero = std::round(std::clamp(first - low / scale, first, last));
  const float least = (first - zero) * scale, most = (last - zero) * scale;
  const ValueId steps =
      o.div(o.sub(o.clip(o.need(0), least, most), o.float_number(least)), o.float_number(scale));
  const ValueId whole = o.op(OpKind::kFloor, {o.add(steps, 0.5)});
  o.result(o.add(o.mul(whole, o.float_number(scale)), o.float_number(least)));
}

constexpr std::array kBitRules = {
    TfliteRule{Code::BITCAST, bitcast},
    TfliteRule{Code::FAKE_QUANT, fake_quant},
    TfliteRule{Code::RIGHT_SHIFT, right_shift},
};

}  // namespace

std::span<const TfliteRule> tflite_bit_rules() { return kBitRules; }

}  // namespace parallax
