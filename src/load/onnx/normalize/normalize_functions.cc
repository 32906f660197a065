// Operators that the graph lacks because few others give the same.
#include <fmt/core.h>

#include <algorithm>
#include <numbers>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {
namespace {

/// The sum of all inputs but the last, and the last.
std::pair<ValueId, ValueId> sum_of_all_but_one(Rewriting& to) {
  ValueId sum = to.need(0);
  for (std::size_t i = 1; i + 1 < to.inputs(); ++i) sum = to.add(sum, to.need(i));
  return {sum, to.need(to.inputs() - 1)};
}

/// x Sigmoid(alpha x).
ValueId swish(Rewriting& to, ValueId x, float alpha) {
  const ValueId scaled = alpha == 1 ? x : to.mul(x, alpha);
  return to.mul(x, to.op(OpKind::kSigmoid, {scaled}));
}

/// a - b cos(2 pi n / size) + c cos(4 pi n / size).
Status write_window(FileNode& file, double a, double b, double c) {
  Rewriting to(file);
  const DType computed = DType::kF32;
  const ValueId given = to.need(0);
  const std::int64_t type = to.take_int("output_datatype", info_of(computed).onnx);
  const bool periodic = to.take_int("periodic", 1) != 0;
  const ValueId size = to.cast_to(given, DType::kI64);
  const ValueId whole = to.rank(size) == 0 ? size : to.reshape(size, {});
  const ValueId steps = to.op(OpKind::kRange, {to.int_number(0), whole, to.int_number(1)});
  const ValueId length = to.cast(periodic ? whole : to.sub(whole, to.int_number(1)), computed);
  const ValueId turn = to.div(to.mul(to.cast(steps, computed), 2 * std::numbers::pi), length);
  ValueId window =
      to.sub(to.float_number(static_cast<float>(a)), to.mul(to.op(OpKind::kCos, {turn}), b));
  if (c != 0) window = to.add(window, to.mul(to.op(OpKind::kCos, {to.mul(turn, 2)}), c));
  to.result(OpKind::kCast, {window}, attributes_of({{"to", type}}));
  return to.finish();
}

}  // namespace

Status rewrite_sum(FileNode& file) {
  Rewriting to(file);
  const auto [sum, last] = sum_of_all_but_one(to);
  if (to.inputs() < 2) {
    to.result(sum);
  } else {
    to.result(OpKind::kAdd, {sum, last});
  }
  return to.finish();
}

Status rewrite_mean(FileNode& file) {
  Rewriting to(file);
  const auto [sum, last] = sum_of_all_but_one(to);
  if (to.inputs() < 2) {
    to.result(sum);
  } else {
    const ValueId all = to.add(sum, last);
    to.result(OpKind::kDiv, {all, to.number(static_cast<double>(to.inputs()), all)});
  }
  return to.finish();
}

Status rewrite_swish(FileNode& file) {
  Rewriting to(file);
  const float alpha = to.take_float("alpha", 1);
  to.result(swish(to, to.need(0), alpha));
  return to.finish();
}

Status rewrite_swiglu(FileNode& file) {
  Rewriting to(file);
  const float alpha = to.take_float("alpha", 1);
  const ValueId value = to.need(1);
  to.result(OpKind::kMul, {swish(to, to.need(0), alpha), value});
  return to.finish();
}

Status rewrite_hann_window(FileNode& file) { return write_window(file, 0.5, 0.5, 0); }
Status rewrite_hamming_window(FileNode& file) {
  return write_window(file, 25.0 / 46, 21.0 / 46, 0);
}
Status rewrite_blackman_window(FileNode& file) { return write_window(file, 0.42, 0.5, 0.08); }

/// (x - mean) / (deviation + 1e-9).
Status rewrite_mean_variance_normalization(FileNode& file) {
  Rewriting to(file);
  const auto axes = to.take<std::vector<std::int64_t>>("axes", {0, 2, 3});
  const ValueId x = to.need(0);
  const ValueId off = to.sub(x, to.reduce(OpKind::kReduceMean, x, axes));
  const ValueId variance = to.reduce(OpKind::kReduceMean, to.mul(off, off), axes);
  const ValueId deviation = to.op(OpKind::kSqrt, {variance});
  to.result(OpKind::kDiv, {off, to.add(deviation, 1e-9)});
  return to.finish();
}

/// Pads what is too short, then cuts what is too long.
Status rewrite_center_crop_pad(FileNode& file) {
  Rewriting to(file);
  const ValueId x = to.need(0), wanted = to.cast_to(to.need(1), DType::kI64);
  auto axes = to.take<std::vector<std::int64_t>>("axes", {});
  const int rank = to.rank(x);
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  const ValueId which = to.ints(axes);
  const ValueId size = to.op(OpKind::kGather, {to.op(OpKind::kShape, {x}), to.ints([&] {
                                                 auto from_front = axes;
                                                 for (std::int64_t& axis : from_front)
                                                   axis += axis < 0 ? rank : 0;
                                                 return from_front;
                                               }())});
  const ValueId none = to.ints({0}), two = to.ints({2});
  const ValueId missing = to.op(OpKind::kMax, {to.sub(wanted, size), none});
  const ValueId before = to.div(missing, two);
  const ValueId padded =
      to.op(OpKind::kPad, {x, to.concat({before, to.sub(missing, before)}, 0), ValueId{}, which});
  const ValueId surplus = to.op(OpKind::kMax, {to.sub(size, wanted), none});
  const ValueId begin = to.div(surplus, two);
  to.result(OpKind::kSlice, {padded, begin, to.add(begin, wanted), which});
  return to.finish();
}

/// Before 21 scale and bias had an element for each group.
Status rewrite_group_normalization(FileNode& file) {
  if (file.opset >= 21) return {};
  Rewriting to(file);
  const std::int64_t groups = to.take_int("num_groups", 0);
  if (groups < 1) to.invalid("num_groups must be positive");
  const ValueId x = to.need(0), scale = to.need(1), bias = to.need(2);
  const ValueId grouped = to.reshape(x, {0, groups, -1});
  const ValueId normal =
      to.op(OpKind::kInstanceNormalization, {grouped, scale, bias}, to.take_all());
  to.result(to.reshape_like(normal, x));
  return to.finish();
}

/// stash_type says how precise sums of 16-bit floats are: they are so anyway.
Status rewrite_range(FileNode& file) {
  return file.opset >= 27 ? status_of(file.take<std::int64_t>("stash_type")) : Status();
}

/// Positions in [-1, 1] along each axis, width first, each turned by the matrix of its sample.
Status rewrite_affine_grid(FileNode& file) {
  Rewriting to(file);
  const bool aligned = to.take_int("align_corners", 0) != 0;
  const ValueId theta = to.need(0), size = to.cast_to(to.need(1), DType::kI64);
  const DType type = to.dtype(theta);
  const std::int64_t sizes = to.dimension(size, 0);
  if (sizes != 4 && sizes != 5) to.refuse("size must have 4 or 5 elements");
  const std::int64_t axes = sizes == 5 ? 3 : 2;
  const ValueId spatial = to.slice(size, 2, 2 + axes, 0);
  std::vector<ValueId> places;
  const ValueId last = to.ints({1});
  for (std::int64_t axis = axes - 1; axis >= 0 && !to.failed(); --axis) {
    const ValueId count = to.reshape(to.slice(spatial, axis, axis + 1, 0), {});
    const ValueId steps =
        to.cast(to.op(OpKind::kRange, {to.int_number(0), count, to.int_number(1)}), DType::kF32);
    const ValueId length = to.cast(count, DType::kF32);
    ValueId place;
    if (aligned) {
      const ValueId gaps = to.op(OpKind::kMax, {to.add(length, -1), to.number(1, length)});
      place = to.add(to.div(to.mul(steps, 2), gaps), -1);
    } else {
      place = to.add(to.div(to.add(to.mul(steps, 2), 1), length), -1);
    }
    std::vector<std::int64_t> as_column(static_cast<std::size_t>(axes) + 1, 1);
    as_column[static_cast<std::size_t>(axis)] = -1;
    places.push_back(
        to.op(OpKind::kExpand, {to.reshape(place, as_column), to.concat({spatial, last}, 0)}));
  }
  places.push_back(to.op(OpKind::kExpand, {to.float_number(1), to.concat({spatial, last}, 0)}));
  const ValueId points =
      to.reshape(to.cast_to(to.concat(std::move(places), axes), type), {1, -1, axes + 1});
  const ValueId turned = to.op(OpKind::kMatMul, {points, to.transpose(theta, {0, 2, 1})});
  const ValueId shape = to.concat({to.slice(size, 0, 1, 0), spatial, to.ints({axes})}, 0);
  to.result(OpKind::kReshape, {turned, shape});
  return to.finish();
}

}  // namespace parallax
