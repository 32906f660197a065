// Rules of operators that move elements, or make them from sizes.
#include <fmt/core.h>

#include <array>
#include <limits>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// A dimension of 0 in a shape is that, not the dimension of the input.
ValueId reshaped(TfliteOperator& o, ValueId x, ValueId shape) {
  return o.op(OpKind::kReshape, {x, shape}, attributes_of({{"allowzero", std::int64_t{1}}}));
}

/// The shape is input 1, otherwise an option.
void reshape(TfliteOperator& o) {
  const auto* const shape = o.options<schema::ReshapeOptions>().new_shape();
  if (o.has(1)) return o.result(reshaped(o, o.need(0), o.as_i64(1)));
  if (shape == nullptr) return o.invalid("there is no shape");
  o.result(reshaped(o, o.need(0), o.ints(Ints(shape->begin(), shape->end()))));
}

void transpose(TfliteOperator& o) {
  o.result(o.transpose(o.need(0), o.need_ints(1, "the order of the axes")));
}

void expand_dims(TfliteOperator& o) {
  const Ints axis = o.need_ints(1, "the axis");
  o.result(o.unsqueeze(o.need(0), axis));
}

/// Without axes, all dimensions of 1 go.
void squeeze(TfliteOperator& o) {
  const auto* const axes = o.options<schema::SqueezeOptions>().squeeze_dims();
  if (axes != nullptr && axes->size() > 0)
    return o.result(o.squeeze(o.need(0), Ints(axes->begin(), axes->end())));
  o.result(o.op(OpKind::kSqueeze, {o.need(0)}));
}

void concatenation(TfliteOperator& o) {
  const auto& options = o.options<schema::ConcatenationOptions>();
  o.activated(o.concat(o.all_inputs(), options.axis()), options.fused_activation_function());
}

void pack(TfliteOperator& o) {
  const std::int64_t axis = o.options<schema::PackOptions>().axis();
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < o.inputs(); ++i) parts.push_back(o.unsqueeze(o.need(i), {axis}));
  o.result(o.concat(parts, axis));
}

/// Splits `x` into the outputs.
std::vector<ValueId> split_into(TfliteOperator& o, ValueId x, std::int64_t axis, ValueId sizes) {
  Attributes attributes = with_axis(axis);
  if (!sizes.valid()) attributes.set("num_outputs", static_cast<std::int64_t>(o.outputs()));
  return o.ops(OpKind::kSplit, {x, sizes}, std::move(attributes), o.outputs());
}

void unpack(TfliteOperator& o) {
  const std::int64_t axis = o.options<schema::UnpackOptions>().axis();
  const auto parts = split_into(o, o.need(0), axis, {});
  for (std::size_t i = 0; i < parts.size(); ++i) o.result(i, o.squeeze(parts[i], {axis}));
}

/// The axis is input `axis_at`.
void split(TfliteOperator& o, ValueId x, std::size_t axis_at, ValueId sizes) {
  const Ints axis = o.need_ints(axis_at, "the axis");
  if (o.failed()) return;
  if (axis.size() != 1) return o.invalid("one axis is needed");
  const auto parts = split_into(o, x, axis[0], sizes);
  for (std::size_t i = 0; i < parts.size(); ++i) o.result(i, parts[i]);
}

void split(TfliteOperator& o) { split(o, o.need(1), 0, {}); }

/// One size may be -1: what the others leave.
void split_v(TfliteOperator& o) {
  Ints sizes = o.need_ints(1, "the sizes");
  const Ints axis = o.need_ints(2, "the axis");
  const ValueId x = o.need(0);
  if (o.failed() || axis.size() != 1) return o.invalid("one axis is needed");
  std::int64_t* rest = nullptr;
  std::int64_t sum = 0;
  const std::int64_t whole = o.dimension(x, static_cast<int>(o.from_front(axis[0], o.rank(x))));
  for (std::int64_t& size : sizes) {
    if (size < 0) rest = &size;
    if (size > whole) return o.invalid("a part is larger than the whole");
    sum += std::max<std::int64_t>(size, 0);
  }
  if (rest != nullptr) *rest = whole - sum;
  split(o, x, 2, o.ints(sizes));
}

/// Rows of (before, after) become all of those before, then all of those after.
ValueId onnx_pads(TfliteOperator& o) {
  if (const auto known = o.known_ints(1)) {
    Ints pads(known->size());
    for (std::size_t i = 0; i < pads.size(); ++i)
      pads[i / 2 + i % 2 * (pads.size() / 2)] = (*known)[i];
    return o.ints(pads);
  }
  return o.reshape(o.transpose(o.as_i64(1), {1, 0}), {-1});
}

void pad(TfliteOperator& o) { o.result(o.op(OpKind::kPad, {o.need(0), onnx_pads(o), o.in(2)})); }

void mirror_pad(TfliteOperator& o) {
  const bool reflects =
      o.options<schema::MirrorPadOptions>().mode() == schema::MirrorPadMode::REFLECT;
  if (reflects)
    return o.result(o.op(OpKind::kPad, {o.need(0), onnx_pads(o)},
                         attributes_of({{"mode", std::string("reflect")}})));
  // An edge that is repeated: axis by axis, the border turned round and the image.
  const Ints pads = o.need_ints(1, "the padding");
  ValueId x = o.need(0);
  const auto turned = [&](std::int64_t begin, std::int64_t end, std::int64_t axis) {
    return o.op(OpKind::kSlice, {x, o.ints({begin}), o.ints({end}), o.ints({axis}), o.ints({-1})});
  };
  constexpr std::int64_t kBeforeFirst = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i + 1 < pads.size(); i += 2) {
    const auto axis = static_cast<std::int64_t>(i / 2);
    std::vector<ValueId> parts;
    if (pads[i] > 0) parts.push_back(turned(pads[i] - 1, kBeforeFirst, axis));
    parts.push_back(x);
    if (pads[i + 1] > 0) parts.push_back(turned(-1, -1 - pads[i + 1], axis));
    if (parts.size() > 1) x = o.concat(parts, axis);
  }
  o.result(x);
}

void tile(TfliteOperator& o) { o.result(o.op(OpKind::kTile, {o.need(0), o.as_i64(1)})); }

void broadcast_to(TfliteOperator& o) { o.result(o.op(OpKind::kExpand, {o.need(0), o.as_i64(1)})); }

void fill(TfliteOperator& o) { o.result(o.op(OpKind::kExpand, {o.need(1), o.as_i64(0)})); }

void shape(TfliteOperator& o) {
  o.result(o.cast_to(o.op(OpKind::kShape, {o.need(0)}), o.output_type(0).value_or(DType::kI32)));
}

void rank(TfliteOperator& o) {
  const int number = o.rank(o.need(0));
  const ValueId value = o.int_number(number);
  o.result(o.cast_to(value, o.output_type(0).value_or(DType::kI32)));
}

void range(TfliteOperator& o) { o.result(o.op(OpKind::kRange, {o.need(0), o.need(1), o.need(2)})); }

void reverse_v2(TfliteOperator& o) {
  const Ints axes = o.need_ints(1, "the axes");
  const Ints begin(axes.size(), -1), step(axes.size(), -1);
  const Ints end(axes.size(), std::numeric_limits<std::int64_t>::min());
  o.result(
      o.op(OpKind::kSlice, {o.need(0), o.ints(begin), o.ints(end), o.ints(axes), o.ints(step)}));
}

void reverse_sequence(TfliteOperator& o) {
  const auto& options = o.options<schema::ReverseSequenceOptions>();
  o.result(o.op(OpKind::kReverseSequence, {o.need(0), o.as_i64(1)},
                attributes_of({{"time_axis", std::int64_t{options.seq_dim()}},
                               {"batch_axis", std::int64_t{options.batch_dim()}}})));
}

/// Constants have their zeros already.
void densify(TfliteOperator& o) { o.result(o.need(0)); }

/// Sizes of blocks and borders, two of each axis after the batch.
struct Blocks {
  Ints block, border;
  bool valid = false;
};
Blocks blocks(TfliteOperator& o) {
  Blocks b{o.need_ints(1, "the sizes of blocks"), o.need_ints(2, "the borders")};
  const auto positive = [](std::int64_t x) { return x > 0; };
  b.valid = !o.failed() && !b.block.empty() && b.border.size() == 2 * b.block.size() &&
            std::ranges::all_of(b.block, positive) &&
            o.rank(o.need(0)) > static_cast<int>(b.block.size());
  if (!b.valid && !o.failed()) o.invalid("blocks and borders do not fit the image");
  return b;
}

/// How a tensor's axes are cut into parts, put in another order, and joined.
struct Regrouping {
  Ints parts, order, result;
};

/// Regroups `x`, whose axes from `first` on stay as they are. Refuses a size that is not known.
std::optional<ValueId> regroup(TfliteOperator& o, ValueId x, Regrouping by, std::size_t first) {
  for (auto i = static_cast<int>(first); i < o.rank(x); ++i) {
    by.order.push_back(static_cast<std::int64_t>(by.parts.size()));
    by.parts.push_back(o.dimension(x, i));
    by.result.push_back(by.parts.back());
  }
  if (std::ranges::any_of(by.parts, [](std::int64_t n) { return n < 0; })) {
    o.refuse("sizes must be known");
    return std::nullopt;
  }
  return o.reshape(o.transpose(o.reshape(x, by.parts), by.order), by.result);
}

/// Pixels of each block go to as many images of the batch.
void space_to_batch(TfliteOperator& o) {
  const Blocks b = blocks(o);
  if (!b.valid) return;
  const std::size_t axes = b.block.size();
  const auto rank = static_cast<std::size_t>(o.rank(o.need(0)));
  Ints pads(2 * rank);
  for (std::size_t i = 0; i < axes; ++i) {
    pads[1 + i] = b.border[2 * i];
    pads[rank + 1 + i] = b.border[2 * i + 1];
  }
  ValueId x = o.op(OpKind::kPad, {o.need(0), o.ints(pads)});
  Regrouping by{{o.dimension(x, 0)}, {}, {o.dimension(x, 0)}};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = o.dimension(x, static_cast<int>(1 + i));
    by.parts.insert(by.parts.end(), {size / b.block[i], b.block[i]});
    by.order.push_back(static_cast<std::int64_t>(2 + 2 * i));
    by.result[0] *= b.block[i];
    by.result.push_back(size / b.block[i]);
  }
  by.order.push_back(0);
  for (std::size_t i = 0; i < axes; ++i) by.order.push_back(static_cast<std::int64_t>(1 + 2 * i));
  if (const auto y = regroup(o, x, by, 1 + axes)) o.result(*y);
}

void batch_to_space(TfliteOperator& o) {
  const Blocks b = blocks(o);
  if (!b.valid) return;
  const ValueId x = o.need(0);
  const std::size_t axes = b.block.size();
  std::int64_t images = o.dimension(x, 0);
  for (const std::int64_t block : b.block) {
    if (images < 0 || images % block != 0) return o.invalid("the batch is no whole blocks");
    images /= block;
  }
  Regrouping by{b.block, {static_cast<std::int64_t>(axes)}, {images}};
  by.parts.push_back(images);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = o.dimension(x, static_cast<int>(1 + i));
    by.order.insert(by.order.end(),
                    {static_cast<std::int64_t>(by.parts.size()), static_cast<std::int64_t>(i)});
    by.parts.push_back(size);
    by.result.push_back(size * b.block[i]);
  }
  auto y = regroup(o, x, by, 1 + axes);
  if (!y) return;
  for (std::size_t i = 0; i < axes; ++i)
    y = o.slice(*y, b.border[2 * i], by.result[1 + i] - b.border[2 * i + 1],
                static_cast<std::int64_t>(1 + i));
  o.result(*y);
}

constexpr std::array kMovementRules = {
    TfliteRule{Code::BATCH_TO_SPACE_ND, batch_to_space},
    TfliteRule{Code::BROADCAST_TO, broadcast_to},
    TfliteRule{Code::CONCATENATION, concatenation},
    TfliteRule{Code::DENSIFY, densify},
    TfliteRule{Code::EXPAND_DIMS, expand_dims},
    TfliteRule{Code::FILL, fill},
    TfliteRule{Code::MIRROR_PAD, mirror_pad},
    TfliteRule{Code::PACK, pack},
    TfliteRule{Code::PAD, pad},
    TfliteRule{Code::PADV2, pad},
    TfliteRule{Code::RANGE, range},
    TfliteRule{Code::RANK, rank},
    TfliteRule{Code::RESHAPE, reshape},
    TfliteRule{Code::REVERSE_SEQUENCE, reverse_sequence},
    TfliteRule{Code::REVERSE_V2, reverse_v2},
    TfliteRule{Code::SHAPE, shape},
    TfliteRule{Code::SPACE_TO_BATCH_ND, space_to_batch},
    TfliteRule{Code::SPLIT, split},
    TfliteRule{Code::SPLIT_V, split_v},
    TfliteRule{Code::SQUEEZE, squeeze},
    TfliteRule{Code::TILE, tile},
    TfliteRule{Code::TRANSPOSE, transpose},
    TfliteRule{Code::UNPACK, unpack},
};

}  // namespace

std::span<const TfliteRule> tflite_movement_rules() { return kMovementRules; }

}  // namespace parallax
