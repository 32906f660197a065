// Rules of operators that sort elements into segments, sparse places or intervals.
#include <algorithm>
#include <array>
#include <limits>

#include "ir/dtype_sets.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// Distinct elements in the order in which they come, and the place of each input among them.
void unique(TfliteOperator& o) {
  const auto parts =
      o.ops(OpKind::kUnique, {o.need(0)}, attributes_of({{"sorted", std::int64_t{0}}}), 3);
  o.result(0, parts[0]);
  o.result(1, o.cast_to(parts[2], o.output_type(1).value_or(DType::kI32)));
}

/// Folds elements with the same id. Inputs are data and ids, which have the first axes of the data.
/// `segments`: how many there are, a list of one; ids of -1 are left out.
ValueId folded(TfliteOperator& o, std::string_view reduction, double start, ValueId segments) {
  const ValueId data = o.need(0);
  ValueId ids = o.cast_to(o.need(1), DType::kI64);
  const int rank = o.rank(data), id_rank = o.rank(ids);
  if (o.failed()) return {};
  if (id_rank > rank) {
    o.invalid("ids have more dimensions than the data");
    return {};
  }
  // A segment more takes the elements that are left out.
  const ValueId last = o.squeeze(segments, {0});
  ids = o.op(OpKind::kWhere, {o.op(OpKind::kLess, {ids, o.int_number(0)}), last, ids});
  const ValueId shape =
      o.op(OpKind::kShape, {data}, attributes_of({{"start", std::int64_t{id_rank}}}));
  const ValueId all = o.concat({o.add(segments, 1), shape}, 0);
  const ValueId starts = o.op(OpKind::kExpand, {o.number(start, data), all});
  const ValueId sums = o.op(OpKind::kScatterND, {starts, o.unsqueeze(ids, {-1}), data},
                            attributes_of({{"reduction", std::string(reduction)}}));
  return o.op(OpKind::kSlice, {sums, o.ints({0}), segments, o.ints({0})});
}

/// Ids ascend: the last one tells how many segments there are.
void segment_sum(TfliteOperator& o) {
  const ValueId last = o.slice(o.as_i64(1), -1, std::numeric_limits<std::int64_t>::max(), 0);
  o.result(folded(o, "add", 0, o.add(last, 1)));
}

/// The number of segments is input 2.
void unsorted(TfliteOperator& o, std::string_view reduction, double start) {
  const ValueId segments = o.reshape(o.cast_to(o.need(2), DType::kI64), {1});
  o.result(folded(o, reduction, start, segments));
}

/// The least (sign -1) or the largest number of a type.
double extreme(DType dtype, double sign) {
  if (dtype == DType::kI32)
    return sign < 0 ? std::numeric_limits<std::int32_t>::lowest()
                    : std::numeric_limits<std::int32_t>::max();
  return sign * static_cast<double>(std::numeric_limits<float>::max());
}

void unsorted_sum(TfliteOperator& o) { unsorted(o, "add", 0); }
void unsorted_prod(TfliteOperator& o) { unsorted(o, "mul", 1); }
void unsorted_max(TfliteOperator& o) { unsorted(o, "max", extreme(o.dtype(o.need(0)), -1)); }
void unsorted_min(TfliteOperator& o) { unsorted(o, "min", extreme(o.dtype(o.need(0)), 1)); }

/// Inputs are places (one, a list, or rows of indices), the shape, a value for each, the value of
/// all other elements.
void sparse_to_dense(TfliteOperator& o) {
  ValueId places = o.cast_to(o.need(0), DType::kI64), values = o.need(2);
  if (o.rank(places) == 0) places = o.unsqueeze(places, {0});
  if (o.rank(places) == 1) places = o.unsqueeze(places, {1});
  if (o.rank(values) == 0) values = o.op(OpKind::kExpand, {values, o.dim(places, 0)});
  const ValueId rest = o.op(OpKind::kExpand, {o.need(3), o.as_i64(1)});
  o.result(o.op(OpKind::kScatterND, {rest, places, values}));
}

/// Whether an element of a matrix of that size is on the diagonal, as [rows, columns].
ValueId on_diagonal(TfliteOperator& o, std::int64_t rows, std::int64_t columns) {
  const auto line = [&](std::int64_t count) {
    return o.op(OpKind::kRange, {o.int_number(0), o.int_number(count), o.int_number(1)});
  };
  return o.op(OpKind::kEqual, {o.reshape(line(rows), {rows, 1}), line(columns)});
}

void matrix_diag(TfliteOperator& o) {
  const ValueId x = o.need(0);
  const std::int64_t size = o.dimension(x, o.rank(x) - 1);
  if (o.failed()) return;
  if (size < 0) return o.refuse("sizes must be known");
  o.result(
      o.op(OpKind::kWhere, {on_diagonal(o, size, size), o.unsqueeze(x, {-1}), o.number(0, x)}));
}

void matrix_set_diag(TfliteOperator& o) {
  const ValueId x = o.need(0), diagonal = o.need(1);
  const int rank = o.rank(x);
  const std::int64_t rows = o.dimension(x, rank - 2), columns = o.dimension(x, rank - 1);
  if (o.failed()) return;
  if (rows < 0 || columns < 0) return o.refuse("sizes must be known");
  if (o.rank(diagonal) != rank - 1) return o.invalid("the diagonal does not fit the matrix");
  const ValueId spread = o.unsqueeze(diagonal, {rows <= columns ? -1 : -2});
  o.result(o.op(OpKind::kWhere, {on_diagonal(o, rows, columns), spread, x}));
}

/// The shape that two shapes broadcast to.
void broadcast_args(TfliteOperator& o) {
  std::array<ValueId, 2> shapes = {o.as_i64(0), o.as_i64(1)};
  const std::int64_t first = o.dimension(shapes[0], 0), second = o.dimension(shapes[1], 0);
  if (o.failed()) return;
  if (first < 0 || second < 0) return o.refuse("ranks must be known");
  const std::int64_t rank = std::max(first, second);
  if (rank > Dims::kMaxRank) return o.refuse("shapes have too many dimensions");
  const std::array<std::int64_t, 2> added = {rank - first, rank - second};
  for (std::size_t i = 0; i < 2; ++i)
    if (added[i] > 0)
      shapes[i] = o.concat({o.ints(Ints(static_cast<std::size_t>(added[i]), 1)), shapes[i]}, 0);
  const ValueId one = o.op(OpKind::kEqual, {shapes[0], o.int_number(1)});
  o.result(o.cast_to(o.op(OpKind::kWhere, {one, shapes[1], shapes[0]}),
                     o.output_type(0).value_or(DType::kI32)));
}

/// How many boundaries are not above an element.
void bucketize(TfliteOperator& o) {
  const auto given = elements_of(o.options<schema::BucketizeOptions>().boundaries());
  const DType dtype = o.dtype(o.need(0)) == DType::kF64 ? DType::kF64 : DType::kF32;
  const ValueId boundaries = o.cast_to(
      o.constant(make_constant(DType::kF32, Dims{std::ssize(given)}, std::as_bytes(given))), dtype);
  const ValueId x = o.unsqueeze(o.cast_to(o.need(0), dtype), {-1});
  const ValueId reached = o.cast(o.op(OpKind::kGreaterOrEqual, {x, boundaries}), DType::kI32);
  o.result(o.reduce(OpKind::kReduceSum, reached, {-1}, false));
}

constexpr std::array kSegmentRules = {
    TfliteRule{Code::BROADCAST_ARGS, broadcast_args},
    TfliteRule{Code::BUCKETIZE, bucketize},
    TfliteRule{Code::MATRIX_DIAG, matrix_diag},
    TfliteRule{Code::MATRIX_SET_DIAG, matrix_set_diag},
    TfliteRule{Code::SEGMENT_SUM, segment_sum},
    TfliteRule{Code::SPARSE_TO_DENSE, sparse_to_dense},
    TfliteRule{Code::UNIQUE, unique},
    TfliteRule{Code::UNSORTED_SEGMENT_MAX, unsorted_max},
    TfliteRule{Code::UNSORTED_SEGMENT_MIN, unsorted_min},
    TfliteRule{Code::UNSORTED_SEGMENT_PROD, unsorted_prod},
    TfliteRule{Code::UNSORTED_SEGMENT_SUM, unsorted_sum},
};

}  // namespace

std::span<const TfliteRule> tflite_segment_rules() { return kSegmentRules; }

}  // namespace parallax
