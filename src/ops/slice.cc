// Slice and Split: parts of a tensor along axes.
#include <fmt/core.h>

#include <limits>

#include "ops/common.h"
#include "ops/params/movement.h"

namespace parallax {

namespace {

/// Exporters' numbers for "to the end" and "from the beginning".
constexpr std::int64_t kFarEnd = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kFarStart = std::numeric_limits<std::int32_t>::min();

bool is_far_end(const Expr& bound) { return bound.constant().value_or(0) >= kFarEnd; }
bool is_far_start(const Expr& bound) { return bound.constant().value_or(0) <= kFarStart; }

/// The start and the number of elements of a slice.
struct Extent {
  Expr start;
  Expr count;
};

/// Returns nullopt if the sign of a bound is not known. A start beyond the end needs no clamping:
/// the count is then 0.
std::optional<Extent> forward_extent(const Expr& dim, const Expr& start, const Expr& end,
                                     std::int64_t step) {
  Expr last = 0;
  if (is_far_end(end)) {
    last = dim;
  } else if (is_far_start(end)) {
    last = 0;
  } else if (is_negative(end)) {
    last = dim + end;
  } else if (is_non_negative(end)) {
    last = min(end, dim);
  } else {
    return std::nullopt;
  }
  Extent extent{start, last - start};
  if (is_far_end(start)) {
    extent = {dim, 0};
  } else if (is_far_start(start)) {
    extent = {0, last};
  } else if (is_negative(start)) {
    // last - max(dim + start, 0), written so that dim cancels where it can.
    extent = {max(dim + start, 0), min(last - dim - start, last)};
  } else if (!is_non_negative(start)) {
    return std::nullopt;
  }
  extent.count = max(ceil_div(extent.count, Expr(step)), 0);
  return extent;
}

std::optional<Extent> backward_extent(const Expr& dim, const Expr& start, const Expr& end,
                                      std::int64_t step) {
  Expr first = dim - 1;
  if (is_far_start(start)) {
    first = 0;
  } else if (is_negative(start)) {
    if (!(start == Expr(-1))) first = max(dim + start, 0);
  } else if (is_non_negative(start)) {
    if (!is_far_end(start)) first = min(start, dim - 1);
  } else {
    return std::nullopt;
  }
  Expr last = -1;
  if (is_far_end(end)) {
    last = dim - 1;
  } else if (is_far_start(end)) {
    last = -1;
  } else if (is_negative(end)) {
    last = max(dim + end, -1);
  } else if (is_non_negative(end)) {
    last = min(end, dim - 1);
  } else {
    return std::nullopt;
  }
  const auto stride = checked_sub(0, step);
  const Expr count = stride ? ceil_div(first - last, Expr(*stride)) : Expr(1);
  return Extent{first, min(max(count, 0), dim)};
}

/// The same for numbers, without expressions' treatment of INT32_MAX as the end. REQUIRES: step is
/// not 0, dim >= 0.
Extent known_extent(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim == 0) return {0, 0};
  const auto clamp = [&](std::int64_t bound, std::int64_t low, std::int64_t high) {
    if (bound < 0) bound = bound < -dim ? low : bound + dim;
    return bound < low ? low : (bound > high ? high : bound);
  };
  if (step > 0) {
    const std::int64_t first = clamp(start, 0, dim);
    const std::int64_t room = clamp(end, 0, dim) - first;
    return {first, room <= 0 ? 0 : (room - 1) / step + 1};
  }
  const std::int64_t first = clamp(start, 0, dim - 1);
  const std::int64_t room = first - clamp(end, -1, dim - 1);
  // The smallest step has no positive counterpart; any larger than the axis gives one element.
  const std::int64_t stride = step == std::numeric_limits<std::int64_t>::min()
                                  ? std::numeric_limits<std::int64_t>::max()
                                  : -step;
  return {first, room <= 0 ? 0 : (room - 1) / stride + 1};
}

std::optional<Extent> extent_of(const Expr& dim, const Expr& start, const Expr& end,
                                std::int64_t step) {
  const auto d = dim.constant();
  const auto s = start.constant();
  const auto e = end.constant();
  if (d && s && e) return known_extent(*d, *s, *e, step);
  return step > 0 ? forward_extent(dim, start, end, step) : backward_extent(dim, start, end, step);
}

/// The bounds as they concern each axis of the data.
struct SliceBounds {
  std::vector<int> axes;
  std::vector<Expr> starts, ends;
  std::vector<std::int64_t> steps;
};

Status check_lists(const InferContext& context) {
  if (context.inputs[0].shape.empty()) return fail(context, "a scalar cannot be sliced");
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kIndexTypes));
    PX_RETURN_IF_ERROR(expect_rank(context, i, 1));
    if (context.has(i) && !unify(context.inputs[i].shape[0], context.inputs[1].shape[0])) {
      return fail(context, "starts, ends, axes and steps must have one length");
    }
  }
  return {};
}

/// Returns nullopt if axes, steps or bounds are not known.
Result<std::optional<SliceBounds>> read_bounds(const InferContext& context) {
  auto starts = context.exprs(1);
  auto ends = context.exprs(2);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  const std::size_t count = starts->size();
  const int rank = rank_of(context.inputs[0]);
  std::vector<std::int64_t> axes(count);
  for (std::size_t i = 0; i < count; ++i) axes[i] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> steps(count, 1);
  if (context.has(3)) {
    const auto known = context.known_ints(3);
    if (!known || known->size() != count) return std::nullopt;
    axes = *known;
  }
  if (context.has(4)) {
    const auto known = context.known_ints(4);
    if (!known || known->size() != count) return std::nullopt;
    steps = *known;
  }
  for (std::int64_t step : steps) {
    if (step == 0) return fail(context, "a step is 0");
  }
  PX_ASSIGN(auto normal, normalize_axes(context, axes, rank));
  return SliceBounds{std::move(normal), *std::move(starts), *std::move(ends), std::move(steps)};
}

Content sliced_content(const InferContext& context, const Shape& shape, const SliceBounds& bounds,
                       std::span<const Expr> first) {
  const InferInput& x = context.inputs[0];
  const auto size = content_size(shape);
  const auto from = concrete(x.shape);
  if (!has_content(x.dtype) || !size || !from || !content_size(x.shape)) return std::nullopt;
  const auto elements = context.exprs(0);
  if (!elements) return std::nullopt;
  Dims start = *from, step = *from;
  for (int i = 0; i < from->rank(); ++i) {
    start[i] = 0;
    step[i] = 1;
  }
  for (std::size_t i = 0; i < bounds.axes.size(); ++i) {
    const auto at = first[i].constant();
    if (!at) return std::nullopt;
    start[bounds.axes[i]] = *at;
    step[bounds.axes[i]] = bounds.steps[i];
  }
  std::vector<Expr> result;
  result.reserve(*size);
  for_each_index(*concrete(shape), [&](const Dims& index) {
    Dims at = index;
    for (int i = 0; i < at.rank(); ++i) {
      // A step counts only where there is a second element, which lies within the data.
      at[i] = start[i] + (index[i] == 0 ? 0 : index[i] * step[i]);
    }
    result.push_back((*elements)[offset_of(*from, at)]);
  });
  return result;
}

InferResult infer_slice(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_lists(context));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto bounds, read_bounds(context));
  Shape shape = x.shape;
  if (!bounds) {
    // If the axes are known, the others keep their sizes.
    const auto axes = context.known_ints(3);
    if (!axes) return one_output(x.dtype, fresh_shape(context, shape.size()));
    PX_ASSIGN(const auto normal, normalize_axes(context, *axes, rank_of(x)));
    for (int axis : normal) shape[static_cast<std::size_t>(axis)] = context.fresh_symbol("slice");
    return one_output(x.dtype, std::move(shape));
  }
  std::vector<Expr> first;
  for (std::size_t i = 0; i < bounds->axes.size(); ++i) {
    Expr& dim = shape[static_cast<std::size_t>(bounds->axes[i])];
    const auto extent = extent_of(dim, bounds->starts[i], bounds->ends[i], bounds->steps[i]);
    dim = extent ? extent->count : context.fresh_symbol("slice");
    first.push_back(extent ? extent->start : context.fresh_symbol("start"));
  }
  Content content = sliced_content(context, shape, *bounds, first);
  return one_output(x.dtype, std::move(shape), std::move(content));
}

/// Sizes of the parts; an empty list where they are computed while running.
Result<std::vector<Expr>> split_sizes(const InferContext& context, const SplitParams& params,
                                      const Expr& dim) {
  const std::size_t parts = context.node.outputs.size();
  const bool counted = params.num_outputs.has_value();
  if (context.has(1)) {
    PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
    PX_ASSIGN(const auto length, vector_length(context, 1));
    if (counted) return fail(context, "split and num_outputs are given both");
    if (length && *length != static_cast<std::int64_t>(parts)) {
      return fail(context, fmt::format("{} sizes for {} outputs", *length, parts));
    }
    auto sizes = context.exprs(1);
    if (!sizes || sizes->size() != parts) return std::vector<Expr>{};
    return *std::move(sizes);
  }
  const auto wanted = params.num_outputs.value_or(static_cast<std::int64_t>(parts));
  if (wanted != static_cast<std::int64_t>(parts)) {
    return fail(context, fmt::format("num_outputs is {} but {} outputs exist", wanted, parts));
  }
  const auto known = dim.constant();
  if (!counted && known && *known % wanted != 0) {
    return fail(context, fmt::format("{} does not split into {} equal parts", *known, wanted));
  }
  const Expr part = ceil_div(dim, Expr(wanted));
  std::vector<Expr> sizes(parts, part);
  sizes.back() = dim - part * Expr(wanted - 1);
  return sizes;
}

Content part_of(std::span<const Expr> elements, const Dims& from, int axis, std::int64_t begin,
                std::int64_t size) {
  Dims dims = from;
  dims[axis] = size;
  std::vector<Expr> result;
  for_each_index(dims, [&](Dims index) {
    index[axis] += begin;
    result.push_back(elements[offset_of(from, index)]);
  });
  return result;
}

Status check_sizes(const InferContext& context, std::span<const Expr> sizes, const Expr& dim) {
  Expr sum = 0;
  for (const Expr& size : sizes) {
    if (is_negative(size)) return fail(context, "a part has a negative size");
    sum = sum + size;
  }
  if (!unify(sum, dim)) return fail(context, "the parts do not add up to the axis");
  return {};
}

InferResult infer_split(const InferContext& context) {
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<SplitParams>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(x)));
  const Expr& dim = x.shape[static_cast<std::size_t>(axis)];
  PX_ASSIGN(const auto sizes, split_sizes(context, params, dim));
  const std::size_t parts = context.node.outputs.size();
  if (sizes.empty()) {
    std::vector<InferOutput> outputs(parts, InferOutput{x.dtype, x.shape, std::nullopt});
    for (InferOutput& output : outputs) {
      output.shape[static_cast<std::size_t>(axis)] = context.fresh_symbol("split");
    }
    return outputs;
  }
  PX_RETURN_IF_ERROR(check_sizes(context, sizes, dim));
  Content elements;
  if (has_content(x.dtype) && content_size(x.shape)) elements = context.exprs(0);
  std::vector<InferOutput> outputs;
  std::int64_t begin = 0;
  for (const Expr& size : sizes) {
    InferOutput output{x.dtype, x.shape, std::nullopt};
    output.shape[static_cast<std::size_t>(axis)] = size;
    const auto known = size.constant();
    if (!known) elements.reset();
    if (elements) {
      output.content = part_of(*elements, *concrete(x.shape), axis, begin, *known);
      begin += *known;
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

const OpDef& op_def_Slice() {
  static const OpDef def = [] {
    OpDef d(OpKind::kSlice, {.work = WorkKind::kMovement,
                             .flops = PaperFlops::kNone,
                             .nhwc = NhwcRule::kAxesInput,
                             .rows = RowRule::kSlice,
                             .form = ConformanceForm::kOwn});
    d.min_inputs = 3;
    d.max_inputs = 5;
    d.infer = infer_slice;
    d.macs = macs_none;
    d.shape_inputs = 0b11110;
    return d;
  }();
  return def;
}

const OpDef& op_def_Split() {
  static const OpDef def = [] {
    OpDef d(OpKind::kSplit, {.work = WorkKind::kMovement,
                             .flops = PaperFlops::kNone,
                             .nhwc = NhwcRule::kAxis,
                             .rows = RowRule::kSplit,
                             .form = ConformanceForm::kOwn});
    d.max_inputs = 2;
    d.max_outputs = -1;
    d.attributes = attributes_of<SplitParams>();
    d.infer = infer_split;
    d.macs = macs_none;
    d.shape_inputs = 0b10;
    return d;
  }();
  return def;
}

}  // namespace parallax
