// The rule of STRIDED_SLICE, whose limits may be computed.
#include <algorithm>
#include <array>
#include <limits>

#include "base/saturating.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

/// A limit of a slice: a number, or a list of one that is computed.
struct Limit {
  std::int64_t number = 0;
  ValueId computed = {};  ///< invalid: `number`

  bool is(std::int64_t x) const { return !computed.valid() && number == x; }
};
using Limits = std::vector<Limit>;

/// The limits of input `i`, which has a dimension that is known.
Limits limits_of(TfliteOperator& o, std::size_t i) {
  Limits limits;
  if (const auto known = o.known_ints(i)) {
    for (const std::int64_t number : *known) limits.push_back({number});
    return limits;
  }
  const ValueId list = o.as_i64(i);
  constexpr std::int64_t kMost = 1 << 10;
  const std::int64_t count = std::min(o.dimension(list, 0), kMost);
  if (count < 0) o.refuse("the number of limits must be known");
  for (std::int64_t at = 0; at < count; ++at) limits.push_back({0, o.slice(list, at, at + 1, 0)});
  return limits;
}

ValueId limit_list(TfliteOperator& o, const Limits& limits) {
  std::vector<ValueId> parts;
  Ints numbers;
  for (const Limit& limit : limits) {
    if (!limit.computed.valid()) numbers.push_back(limit.number);
    parts.push_back(limit.computed.valid() ? limit.computed : o.ints({limit.number}));
  }
  return numbers.size() == limits.size() ? o.ints(numbers) : o.concat(parts, 0);
}

/// The end of a slice of one element at `begin`. Minus one is the last element.
Limit end_of_one(TfliteOperator& o, const Limit& begin) {
  if (!begin.computed.valid())
    return {begin.number == -1 ? kToEnd : saturating_add(begin.number, 1)};
  const ValueId last = o.op(OpKind::kEqual, {begin.computed, o.int_number(-1)});
  return {0, o.op(OpKind::kWhere, {last, o.int_number(kToEnd), o.add(begin.computed, 1)})};
}

Limit sum_of(TfliteOperator& o, const Limit& a, const Limit& b) {
  if (!a.computed.valid() && !b.computed.valid()) return {saturating_add(a.number, b.number)};
  const auto value = [&](const Limit& x) {
    return x.computed.valid() ? x.computed : o.ints({x.number});
  };
  return {0, o.add(value(a), value(b))};
}

/// Lists of a STRIDED_SLICE with one element for each axis that is cut, and what happens to the
/// axes afterwards.
struct Cut {
  Limits begin, end;
  Ints step, axes;
  Ints removed;  ///< axes of the input of which one index is taken
  Ints added;    ///< axes of the result
};

struct StridedLists {
  Limits begin, end;
  Ints step;
  std::int32_t begin_mask, end_mask, removed_mask;
  bool offset;
};

/// `at`: the element of the lists that names axis `axis`.
void cut_axis(TfliteOperator& o, const StridedLists& lists, std::size_t at, std::int64_t axis,
              Cut& cut) {
  const std::int32_t bit = std::int32_t{1} << at;
  Limit begin = lists.begin[at], end = lists.end[at];
  std::int64_t step = lists.step[at];
  if ((lists.removed_mask & bit) != 0) {
    cut.removed.push_back(axis);
    if ((lists.begin_mask & bit) != 0) begin = {0};
    end = end_of_one(o, begin);
    step = 1;
  } else {
    if (lists.offset) end = sum_of(o, begin, end);
    if ((lists.begin_mask & bit) != 0) begin = {step > 0 ? 0 : kToEnd};
    if ((lists.end_mask & bit) != 0) end = {step > 0 ? kToEnd : -kToEnd};
    if (begin.is(0) && end.is(kToEnd) && step == 1) return;
  }
  cut.begin.push_back(begin);
  cut.end.push_back(end);
  cut.step.push_back(step);
  cut.axes.push_back(axis);
}

/// Walks over the elements of the lists: an ellipsis stands for the axes that no other names.
Cut cut_of(TfliteOperator& o, const StridedLists& lists, std::int32_t ellipsis_mask,
           std::int32_t new_mask, int rank) {
  Cut cut;
  const std::size_t count = lists.begin.size();
  std::int64_t named = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t bit = std::int32_t{1} << i;
    if ((ellipsis_mask & bit) == 0 && (new_mask & bit) == 0) ++named;
  }
  std::int64_t axis = 0, result = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t bit = std::int32_t{1} << i;
    if ((ellipsis_mask & bit) != 0) {
      axis += rank - named;
      result += rank - named;
    } else if ((new_mask & bit) != 0) {
      cut.added.push_back(result++);
    } else {
      cut_axis(o, lists, i, axis++, cut);
      if ((lists.removed_mask & bit) == 0) ++result;
    }
  }
  return cut;
}

void strided_slice(TfliteOperator& o) {
  const auto& options = o.options<schema::StridedSliceOptions>();
  constexpr std::size_t kMost = 31;  // bits of a mask
  const ValueId x = o.need(0);
  const int rank = o.rank(x);
  const StridedLists lists = {limits_of(o, 1),      limits_of(o, 2),    o.need_ints(3, "strides"),
                              options.begin_mask(), options.end_mask(), options.shrink_axis_mask(),
                              options.offset()};
  if (o.failed()) return;
  if (lists.begin.size() != lists.end.size() || lists.begin.size() != lists.step.size() ||
      lists.begin.size() >= kMost || std::ranges::find(lists.step, 0) != lists.step.end())
    return o.invalid("begin, end and strides do not fit each other");
  const Cut cut = cut_of(o, lists, options.ellipsis_mask(), options.new_axis_mask(), rank);
  ValueId y = x;
  if (!cut.axes.empty())
    y = o.op(OpKind::kSlice, {x, limit_list(o, cut.begin), limit_list(o, cut.end), o.ints(cut.axes),
                              o.ints(cut.step)});
  if (!cut.removed.empty()) y = o.squeeze(y, cut.removed);
  if (!cut.added.empty()) y = o.unsqueeze(y, cut.added);
  o.result(y);
}

constexpr std::array kStridedSliceRules = {TfliteRule{Code::STRIDED_SLICE, strided_slice}};

}  // namespace

std::span<const TfliteRule> tflite_strided_slice_rules() { return kStridedSliceRules; }

}  // namespace parallax
