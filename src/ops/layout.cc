// Operators that rearrange elements: Transpose, Concat, Expand, Tile, Pad.
#include <fmt/core.h>

#include <algorithm>

#include "ops/common.h"
#include "ops/params/movement.h"

namespace parallax {

namespace {

/// Elements of input i where it is a small integer tensor that is known.
Content small_content(const InferContext& context, std::size_t i) {
  const InferInput& x = context.inputs[i];
  if (!has_content(x.dtype) || !content_size(x.shape)) return std::nullopt;
  return context.exprs(i);
}

/// Content of `shape` taken from input 0: the element at `index` is the one at source(index).
template <class Source>
Content rearranged(const InferContext& context, const Shape& shape, Source source) {
  const auto size = content_size(shape);
  if (!size) return std::nullopt;
  const auto elements = small_content(context, 0);
  if (!elements) return std::nullopt;
  const Dims from = *concrete(context.inputs[0].shape);
  std::vector<Expr> result;
  result.reserve(*size);
  for_each_index(*concrete(shape), [&](const Dims& index) {
    result.push_back((*elements)[offset_of(from, source(from, index))]);
  });
  return result;
}

/// The element that repeats into `index`, axes aligned at the end.
Dims wrapped(const Dims& from, const Dims& index) {
  Dims at = from;
  const int lead = index.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) at[i] = index[i + lead] % from[i];
  return at;
}

InferResult infer_transpose(const InferContext& context) {
  const InferInput& x = context.inputs[0];
  const int rank = rank_of(x);
  std::vector<int> perm;
  PX_ASSIGN(const auto params, read_params<TransposeParams>(context));
  const auto& stated = params.perm;
  if (stated.empty()) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  } else {
    if (stated.size() != x.shape.size() ||
        std::any_of(stated.begin(), stated.end(), [](std::int64_t axis) { return axis < 0; })) {
      return fail(context, "perm is not a permutation of the axes");
    }
    PX_ASSIGN(perm, normalize_axes(context, stated, rank));
  }
  Shape shape;
  for (int axis : perm) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  Content content = rearranged(context, shape, [&](const Dims& from, const Dims& index) {
    Dims at = from;
    for (int i = 0; i < rank; ++i) at[perm[static_cast<std::size_t>(i)]] = index[i];
    return at;
  });
  return one_output(x.dtype, std::move(shape), std::move(content));
}

/// The parts one after the other along `axis`.
Content joined_content(const InferContext& context, const Shape& shape, int axis) {
  const auto size = content_size(shape);
  if (!size || !has_content(context.inputs[0].dtype)) return std::nullopt;
  std::vector<std::vector<Expr>> parts;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    auto part = small_content(context, i);
    if (!part) return std::nullopt;
    parts.push_back(*std::move(part));
  }
  const Dims dims = *concrete(shape);
  std::size_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= static_cast<std::size_t>(dims[i]);
  std::vector<Expr> result;
  if (*size == 0) return result;
  result.reserve(*size);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const auto& part : parts) {
      const std::size_t run = part.size() / rows;
      const auto begin = part.begin() + static_cast<std::ptrdiff_t>(row * run);
      result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(run));
    }
  }
  return result;
}

InferResult infer_concat(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<OptionalAxisParams>(context));
  if (!params.axis) return fail(context, "axis is missing");
  Shape shape = context.inputs[0].shape;
  PX_ASSIGN(const int axis, checked_axis(context, *params.axis, rank_of(context.inputs[0])));
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    const Shape& other = context.inputs[i].shape;
    if (other.size() != shape.size()) return fail(context, "inputs differ in rank");
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (static_cast<int>(k) == axis) {
        shape[k] = shape[k] + other[k];
        continue;
      }
      const auto both = unify(shape[k], other[k]);
      if (!both) return fail(context, fmt::format("inputs differ on axis {}", k));
      shape[k] = *both;
    }
  }
  Content content = joined_content(context, shape, axis);
  return one_output(context.inputs[0].dtype, std::move(shape), std::move(content));
}

/// Returns the shape for sizes that are computed while running: a dimension above 1 stays as it is.
Shape expanded_blindly(const InferContext& context, std::size_t length) {
  const Shape& from = context.inputs[0].shape;
  const std::size_t rank = std::max(from.size(), length);
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t back = rank - i;
    const bool given = back <= from.size();
    const Expr dim = given ? from[from.size() - back] : Expr(1);
    const bool stays = back > length || dim.constant().value_or(1) > 1;
    shape.push_back(stays ? dim : context.fresh_symbol("expand"));
  }
  return shape;
}

InferResult infer_expand(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, 1));
  if (!length || *length > Dims::kMaxRank) {
    return fail(context, "the rank of the result is not known or too large",
                ErrorCode::kUnsupported);
  }
  const InferInput& x = context.inputs[0];
  const auto wanted = context.exprs(1);
  if (!wanted) {
    return one_output(x.dtype, expanded_blindly(context, static_cast<std::size_t>(*length)));
  }
  for (const Expr& dim : *wanted) {
    if (is_negative(dim)) return fail(context, "the shape has a negative dimension");
  }
  PX_ASSIGN(Shape shape, broadcast(x.shape, *wanted, context));
  Content content = rearranged(context, shape, wrapped);
  return one_output(x.dtype, std::move(shape), std::move(content));
}

InferResult infer_tile(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, 1));
  const InferInput& x = context.inputs[0];
  if (length && *length != static_cast<std::int64_t>(x.shape.size())) {
    return fail(context, "repeats must have one element per axis");
  }
  const auto repeats = context.exprs(1);
  if (!repeats || repeats->size() != x.shape.size()) {
    return one_output(x.dtype, fresh_shape(context, x.shape.size()));
  }
  Shape shape = x.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (is_negative((*repeats)[i])) return fail(context, "a repeat is negative");
    shape[i] = shape[i] * (*repeats)[i];
  }
  Content content = rearranged(context, shape, wrapped);
  return one_output(x.dtype, std::move(shape), std::move(content));
}

/// Returns the axes that pads concern; nullopt if they are computed while running.
Result<std::optional<std::vector<int>>> padded_axes(const InferContext& context) {
  const int rank = rank_of(context.inputs[0]);
  PX_RETURN_IF_ERROR(expect_dtype(context, 3, kIndexTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 3, 1));
  std::vector<std::int64_t> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  if (context.has(3)) {
    const auto known = context.known_ints(3);
    if (!known) return std::nullopt;
    axes = *known;
  }
  PX_ASSIGN(auto normal, normalize_axes(context, axes, rank));
  return normal;
}

/// `dim` with `begin` and `end` more elements. Reflection takes elements from the far side of the
/// first (or last) one, so it needs that many; an edge needs one.
Result<Expr> padded_dim(const InferContext& context, PadMode mode, const Expr& dim,
                        const Expr& begin, const Expr& end) {
  const Expr cropped = dim + min(begin, 0) + min(end, 0);
  const bool grows = is_negative(Expr(0) - begin) || is_negative(Expr(0) - end);
  if (is_negative(cropped)) return fail(context, "pads remove more than the axis has");
  if ((mode == PadMode::kEdge || mode == PadMode::kWrap) && grows && cropped == Expr(0)) {
    return fail(context, "an axis without elements has no edge");
  }
  const Expr left = cropped - 1 - max(begin, end);
  if (mode == PadMode::kReflect && grows && is_negative(left)) {
    return fail(context, "reflected padding must be smaller than the axis");
  }
  return dim + begin + end;
}

InferResult infer_pad(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<PadParams>(context));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 1));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 2));
  PX_RETURN_IF_ERROR(expect_one_element(context, 2));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto axes, padded_axes(context));
  const auto pads = context.exprs(1);
  if (!axes || !pads) return one_output(x.dtype, fresh_shape(context, x.shape.size()));
  const std::size_t count = axes->size();
  if (pads->size() != 2 * count) {
    return fail(context, fmt::format("{} pads for {} axes", pads->size(), count));
  }
  Shape shape = x.shape;
  for (std::size_t i = 0; i < count; ++i) {
    Expr& dim = shape[static_cast<std::size_t>((*axes)[i])];
    PX_ASSIGN(dim, padded_dim(context, params.mode, dim, (*pads)[i], (*pads)[count + i]));
  }
  return one_output(x.dtype, std::move(shape));
}

/// Which parts of a node that arranges elements turn and split; the rest is the same for all.
struct Arranged {
  Stated<NhwcRule> nhwc;
  Stated<RowRule> rows;
};

OpDef arrangement(OpKind kind, const Arranged& arranged,
                  InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, {.work = WorkKind::kMovement,
                   .flops = PaperFlops::kNone,
                   .nhwc = arranged.nhwc,
                   .rows = arranged.rows,
                   .form = ConformanceForm::kOwn});
  def.infer = infer;
  def.macs = macs_none;
  return def;
}

}  // namespace

const OpDef& op_def_Transpose() {
  static const OpDef def = [] {
    OpDef d = arrangement(OpKind::kTranspose,
                          {.nhwc = NhwcRule::kNone, .rows = RowRule::kTranspose}, infer_transpose);
    d.attributes = attributes_of<TransposeParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Concat() {
  static const OpDef def = [] {
    OpDef d = arrangement(OpKind::kConcat, {.nhwc = NhwcRule::kConcat, .rows = RowRule::kConcat},
                          infer_concat);
    d.max_inputs = -1;
    d.attributes = attributes_of<OptionalAxisParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Expand() {
  static const OpDef def = [] {
    OpDef d = arrangement(OpKind::kExpand, {.nhwc = NhwcRule::kNone, .rows = RowRule::kExpand},
                          infer_expand);
    d.since = 8;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.shape_inputs = 0b10;
    return d;
  }();
  return def;
}

const OpDef& op_def_Tile() {
  static const OpDef def = [] {
    OpDef d =
        arrangement(OpKind::kTile, {.nhwc = NhwcRule::kNone, .rows = RowRule::kNone}, infer_tile);
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.shape_inputs = 0b10;
    return d;
  }();
  return def;
}

const OpDef& op_def_Pad() {
  static const OpDef def = [] {
    OpDef d = arrangement(OpKind::kPad, {.nhwc = NhwcRule::kPad, .rows = RowRule::kPad}, infer_pad);
    d.min_inputs = 2;
    d.max_inputs = 4;
    d.attributes = attributes_of<PadParams>();
    d.shape_inputs = 0b1010;
    return d;
  }();
  return def;
}

}  // namespace parallax
