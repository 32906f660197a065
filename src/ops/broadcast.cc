#include <algorithm>

#include "ir/expr/expr_broadcast.h"
#include "ops/common.h"

namespace parallax {

namespace {

/// Dimension `back` places from the end, 1 beyond the front.
Expr dim_from_back(const Shape& shape, std::size_t back) {
  return back < shape.size() ? shape[shape.size() - 1 - back] : Expr(1);
}

/// Returns the joint dimension; nullopt if the two certainly do not broadcast.
std::optional<Expr> broadcast_dim(const Expr& a, const Expr& b, const InferContext& context) {
  const auto x = a.constant();
  const auto y = b.constant();
  if (x == 1) return b;
  if (y == 1 || a == b) return a;
  if (x && y) return std::nullopt;
  Expr both = broadcast(a, b);
  // Too many dimensions meet for one expression: running tells.
  if (both.overflow() && !a.overflow() && !b.overflow()) return context.fresh_symbol("broadcast");
  return both;
}

}  // namespace

Result<Shape> broadcast(const Shape& a, const Shape& b, const InferContext& context) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (std::size_t back = 0; back < rank; ++back) {
    const auto dim = broadcast_dim(dim_from_back(a, back), dim_from_back(b, back), context);
    if (!dim) return fail(context, "shapes do not broadcast");
    result[rank - 1 - back] = *dim;
  }
  return result;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const int rank = std::max(a.rank(), b.rank());
  Dims result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const std::int64_t x = ia < 0 ? 1 : a[ia];
    const std::int64_t y = ib < 0 ? 1 : b[ib];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result.push_back(x == 1 ? y : x);
  }
  return result;
}

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace parallax
