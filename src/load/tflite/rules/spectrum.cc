// Rules of Fourier transforms and of complex numbers. A complex tensor is an f32 value with one
// more axis, the last: its real and its imaginary part.
#include <array>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// One of the two parts.
ValueId part(TfliteOperator& o, std::int64_t i) {
  return o.squeeze(o.slice(o.need(0), i, i + 1, -1), {-1});
}
void real_part(TfliteOperator& o) { o.result(part(o, 0)); }
void imaginary_part(TfliteOperator& o) { o.result(part(o, 1)); }

/// To a real type, which takes the real part.
void cast_complex(TfliteOperator& o) {
  const auto dtype = o.output_type(0);
  if (!dtype) return o.refuse("the type of the result is not supported");
  o.result(o.cast_to(part(o, 0), *dtype));
}

void complex_abs(TfliteOperator& o) {
  o.result(o.reduce(OpKind::kReduceL2, o.need(0), {-1}, false));
}

/// The rank of a complex tensor as the file counts it.
int complex_rank(TfliteOperator& o) { return o.rank(o.need(0)) - 1; }

Ints axes_from_front(TfliteOperator& o, Ints axes, int rank) {
  for (std::int64_t& axis : axes) axis = o.from_front(axis, rank);
  return axes;
}

void squeeze_complex(TfliteOperator& o) {
  const auto* const axes = o.options<schema::SqueezeOptions>().squeeze_dims();
  if (length_of(axes) == 0) return o.refuse("complex numbers without stated axes");
  o.result(o.squeeze(o.need(0), axes_from_front(o, {axes->begin(), axes->end()}, complex_rank(o))));
}

void expand_complex_dims(TfliteOperator& o) {
  const Ints axes = o.need_ints(1, "the axis");
  o.result(o.unsqueeze(o.need(0), axes_from_front(o, axes, complex_rank(o) + 1)));
}

void reshape_complex(TfliteOperator& o) {
  const ValueId shape = o.concat({o.as_i64(1), o.ints({2})}, 0);
  o.result(
      o.op(OpKind::kReshape, {o.need(0), shape}, attributes_of({{"allowzero", std::int64_t{1}}})));
}

void transpose_complex(TfliteOperator& o) {
  Ints order = o.need_ints(1, "the order of the axes");
  order.push_back(complex_rank(o));
  o.result(o.transpose(o.need(0), std::move(order)));
}

ValueId transformed(TfliteOperator& o, ValueId x, std::int64_t length, int axis, bool onesided) {
  return o.op(OpKind::kDFT, {x, o.int_number(length), o.int_number(axis)},
              attributes_of({{"onesided", std::int64_t{onesided}}}));
}

/// The last two axes, cut or padded to two lengths; the last keeps half of the frequencies.
void rfft_2d(TfliteOperator& o) {
  const Ints lengths = o.need_ints(1, "the lengths");
  const ValueId x = o.need(0);
  const int rank = o.rank(x);
  if (o.failed()) return;
  if (lengths.size() != 2 || lengths[0] < 1 || lengths[1] < 1 || rank < 2)
    return o.invalid("two lengths and an image are needed");
  ValueId y = transformed(o, o.unsqueeze(x, {-1}), lengths[1], rank - 1, true);
  // A single row is transformed already.
  if (lengths[0] != 1)
    y = transformed(o, y, lengths[0], rank - 2, false);
  else if (o.dimension(y, rank - 2) != 1)
    y = o.slice(y, 0, 1, rank - 2);
  o.result(y);
}

constexpr std::array kSpectrumRules = {TfliteRule{Code::RFFT2D, rfft_2d}};

constexpr std::array kComplexRules = {
    TfliteRule{Code::CAST, cast_complex},
    TfliteRule{Code::COMPLEX_ABS, complex_abs},
    TfliteRule{Code::EXPAND_DIMS, expand_complex_dims},
    TfliteRule{Code::IMAG, imaginary_part},
    TfliteRule{Code::REAL, real_part},
    TfliteRule{Code::RESHAPE, reshape_complex},
    TfliteRule{Code::SQUEEZE, squeeze_complex},
    TfliteRule{Code::TRANSPOSE, transpose_complex},
};

}  // namespace

std::span<const TfliteRule> tflite_spectrum_rules() { return kSpectrumRules; }
std::span<const TfliteRule> tflite_complex_rules() { return kComplexRules; }

}  // namespace parallax
