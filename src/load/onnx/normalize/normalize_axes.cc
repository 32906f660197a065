// Squeeze and Unsqueeze whose axes only running tells: a Reshape to a shape that is computed. How
// many axes there are is known, and so the rank of the result.
#include <vector>

#include "base/status.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxAxes = Dims::kMaxRank;

std::vector<std::int64_t> counted_to(std::int64_t count) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}

/// For each of `rank` axes 1 where `axes` name it, else 0.
ValueId named_axes(Rewriting& to, ValueId axes, std::int64_t rank) {
  const ValueId below = to.op(OpKind::kLess, {axes, to.int_number(0)});
  const ValueId from_front =
      to.op(OpKind::kWhere, {below, to.add(axes, to.int_number(rank)), axes});
  const ValueId places = to.reshape(to.ints(counted_to(rank)), {rank, 1});
  const ValueId same = to.op(OpKind::kEqual, {places, to.reshape(from_front, {1, -1})});
  return to.reduce(OpKind::kReduceMax, to.cast(same, DType::kI64), {1}, false);
}

/// How many of `flags`, [count], are 1 before each.
ValueId ones_before(Rewriting& to, ValueId flags, std::int64_t count) {
  std::vector<std::int64_t> before;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < count; ++k) before.push_back(k < i ? 1 : 0);
  const ValueId table = to.reshape(to.ints(before), {count, count});
  return to.reduce(OpKind::kReduceSum, to.mul(table, flags), {1}, false);
}

}  // namespace

Status rewrite_computed_axes(FileNode& file) {
  Rewriting to(file);
  const ValueId x = to.need(0), axes = to.need(1);
  const std::int64_t rank = to.rank(x), count = to.rank(axes) == 1 ? to.dimension(axes, 0) : -1;
  const bool squeeze = file.node.op == OpKind::kSqueeze;
  const std::int64_t wide = squeeze ? rank : rank + count, narrow = squeeze ? rank - count : rank;
  if (to.failed()) return to.finish();
  if (to.is_known(axes) || count < 1 || narrow < 0 || wide > kMaxAxes) return {};
  const ValueId named = named_axes(to, axes, wide);
  const ValueId kept = to.sub(to.int_number(1), named);
  const ValueId place = ones_before(to, kept, wide);
  const ValueId dims = to.op(OpKind::kShape, {x});
  ValueId shape;
  if (squeeze) {
    const ValueId results = to.reshape(to.ints(counted_to(narrow)), {narrow, 1});
    const ValueId from = to.cast(to.op(OpKind::kEqual, {results, place}), DType::kI64);
    shape = to.reduce(OpKind::kReduceSum, to.mul(to.mul(from, kept), dims), {1}, false);
  } else {
    const ValueId is_new = to.cast(named, DType::kBool);
    const ValueId from = to.op(OpKind::kWhere, {is_new, to.int_number(narrow), place});
    shape = to.op(OpKind::kGather, {to.concat({dims, to.ints({1})}, 0), from});
  }
  to.result(OpKind::kReshape, {x, shape}, attributes_of({{"allowzero", std::int64_t{1}}}));
  return to.finish();
}

}  // namespace parallax
