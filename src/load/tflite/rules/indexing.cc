// Rules of operators that take some elements by their places.
#include <fmt/core.h>

#include <array>
#include <limits>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

/// The numbers from `begin` up to `end`.
void append(Ints& list, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) list.push_back(i);
}

/// With batch_dims, axes before that are the same in operand and indices: the axis moves behind
/// them, and each index is a tuple of one. Axes that it passed then move before the indices' own.
void gather(TfliteOperator& o) {
  const auto& options = o.options<schema::GatherOptions>();
  const ValueId x = o.need(0), indices = o.need(1);
  const int rank = o.rank(x), index_rank = o.rank(indices);
  if (o.failed()) return;
  const std::int64_t axis = o.from_front(options.axis(), rank);
  const std::int64_t batch =
      options.batch_dims() < 0 ? options.batch_dims() + index_rank : options.batch_dims();
  if (o.failed()) return;
  if (batch == 0) return o.result(o.op(OpKind::kGather, {x, indices}, with_axis(axis)));
  if (batch < 0 || batch > axis || batch > index_rank)
    return o.invalid(fmt::format("batch_dims is {}", options.batch_dims()));
  Ints before, after;
  append(before, 0, batch);
  before.push_back(axis);
  append(before, batch, axis);
  append(before, axis + 1, rank);
  append(after, 0, batch);
  append(after, index_rank, index_rank + axis - batch);
  append(after, batch, index_rank);
  append(after, index_rank + axis - batch, index_rank + rank - batch - 1);
  const ValueId tuples = o.unsqueeze(o.cast_to(indices, DType::kI64), {-1});
  const ValueId first = batch == axis ? x : o.transpose(x, before);
  const ValueId y =
      o.op(OpKind::kGatherND, {first, tuples}, attributes_of({{"batch_dims", batch}}));
  o.result(batch == axis ? y : o.transpose(y, after));
}

void gather_nd(TfliteOperator& o) {
  o.result(o.op(OpKind::kGatherND, {o.need(0), o.cast_to(o.need(1), DType::kI64)}));
}

void embedding_lookup(TfliteOperator& o) {
  o.result(o.op(OpKind::kGather, {o.need(1), o.need(0)}, with_axis(0)));
}

/// Updates of one place are added.
void scatter_nd(TfliteOperator& o) {
  const ValueId indices = o.cast_to(o.need(0), DType::kI64), updates = o.need(1);
  const ValueId zeros = o.op(OpKind::kExpand, {o.number(0, updates), o.as_i64(2)});
  o.result(o.op(OpKind::kScatterND, {zeros, indices, updates},
                attributes_of({{"reduction", std::string("add")}})));
}

/// Sizes of -1 reach to the end.
void slice(TfliteOperator& o) {
  const auto begin = o.known_ints(1), size = o.known_ints(2);
  const ValueId x = o.need(0);
  if (o.failed()) return;
  if (!begin || !size) {
    const ValueId first = o.as_i64(1), count = o.as_i64(2);
    const ValueId to_end = o.op(OpKind::kLess, {count, o.int_number(0)});
    const ValueId end = o.op(OpKind::kWhere, {to_end, o.int_number(kLast), o.add(first, count)});
    return o.result(o.op(OpKind::kSlice, {x, first, end}));
  }
  if (begin->size() != size->size() || std::ssize(*begin) != o.rank(x))
    return o.invalid("begin and size must have an element for each axis");
  Ints ends, axes;
  for (std::size_t i = 0; i < size->size(); ++i) {
    if ((*begin)[i] < 0) return o.invalid("begin must not be negative");
    ends.push_back((*size)[i] < 0 ? kLast : (*begin)[i] + (*size)[i]);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  o.result(o.op(OpKind::kSlice, {x, o.ints(*begin), o.ints(ends), o.ints(axes)}));
}

void topk_v2(TfliteOperator& o) {
  const ValueId count = o.reshape(o.cast_to(o.need(1), DType::kI64), {1});
  const auto found = o.ops(OpKind::kTopK, {o.need(0), count}, with_axis(-1), 2);
  o.result(0, found[0]);
  o.result(1, o.cast_to(found[1], o.output_type(1).value_or(DType::kI32)));
}

/// Inputs are indices, the depth, the values on and off.
void one_hot(TfliteOperator& o) {
  const ValueId values = o.concat({o.reshape(o.need(3), {1}), o.reshape(o.need(2), {1})}, 0);
  o.result(o.op(OpKind::kOneHot, {o.need(0), o.need(1), values},
                with_axis(o.options<schema::OneHotOptions>().axis())));
}

/// Places of elements that are not zero, a row each.
void where(TfliteOperator& o) {
  o.result(o.cast_to(o.transpose(o.op(OpKind::kNonZero, {o.need(0)}), {1, 0}),
                     o.output_type(0).value_or(DType::kI64)));
}

/// The update goes to where the start indices say, moved so that it lies inside.
void dynamic_update_slice(TfliteOperator& o) {
  const ValueId x = o.need(0), update = o.need(1);
  const int rank = o.rank(x);
  ValueId start = o.as_i64(2);
  const ValueId size = o.op(OpKind::kShape, {update});
  const ValueId most = o.sub(o.op(OpKind::kShape, {x}), size);
  start = o.op(OpKind::kMin, {o.op(OpKind::kMax, {start, o.int_number(0)}), most});
  // Each element's place, as a row of indices: a grid of the update's axes plus the start.
  std::vector<ValueId> places;
  for (int axis = 0; axis < rank; ++axis) {
    const ValueId count = o.squeeze(o.slice(size, axis, axis + 1, 0), {0});
    ValueId line = o.op(OpKind::kRange, {o.int_number(0), count, o.int_number(1)});
    line = o.add(line, o.slice(start, axis, axis + 1, 0));
    Ints shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    places.push_back(o.unsqueeze(o.op(OpKind::kExpand, {o.reshape(line, shape), size}), {-1}));
  }
  if (places.empty()) return o.result(update);
  o.result(o.op(OpKind::kScatterND, {x, o.concat(places, -1), update}));
}

constexpr std::array kIndexRules = {
    TfliteRule{Code::DYNAMIC_UPDATE_SLICE, dynamic_update_slice},
    TfliteRule{Code::EMBEDDING_LOOKUP, embedding_lookup},
    TfliteRule{Code::GATHER, gather},
    TfliteRule{Code::GATHER_ND, gather_nd},
    TfliteRule{Code::ONE_HOT, one_hot},
    TfliteRule{Code::SCATTER_ND, scatter_nd},
    TfliteRule{Code::SLICE, slice},
    TfliteRule{Code::TOPK_V2, topk_v2},
    TfliteRule{Code::WHERE, where},
};

}  // namespace

std::span<const TfliteRule> tflite_index_rules() { return kIndexRules; }

}  // namespace parallax
