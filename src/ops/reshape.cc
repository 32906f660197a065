// Operators that keep the bytes and change the shape: Reshape, Squeeze, Unsqueeze, Flatten,
// Identity. Content passes through as it is.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/movement.h"

namespace parallax {

namespace {

std::vector<InferOutput> reshaped(const InferContext& context, Shape shape) {
  const DType dtype = context.inputs[0].dtype;
  Content content;
  if (has_content(dtype) && content_size(context.inputs[0].shape)) content = context.exprs(0);
  return one_output(dtype, std::move(shape), std::move(content));
}

/// The dimension that `wanted`, element `i` of Reshape's shape, asks for; nothing for -1.
Result<std::optional<Expr>> wanted_dim(const InferContext& context, const Expr& wanted,
                                       std::size_t i, bool allow_zero) {
  const auto value = wanted.constant();
  if (value == -1) return std::nullopt;
  if (is_negative(wanted)) return fail(context, "the shape has a negative dimension");
  if (value != 0 || allow_zero) return wanted;
  const Shape& from = context.inputs[0].shape;
  if (i >= from.size()) return fail(context, "0 in the shape copies a missing dimension");
  return from[i];
}

Result<Shape> wanted_shape(const InferContext& context, std::span<const Expr> wanted) {
  PX_ASSIGN(const auto params, read_params<ReshapeParams>(context));
  Shape shape;
  std::optional<std::size_t> free;  // index of the -1
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    PX_ASSIGN(const auto dim, wanted_dim(context, wanted[i], i, params.allowzero));
    if (!dim && free) return fail(context, "the shape has -1 twice");
    if (!dim) free = i;
    shape.push_back(dim.value_or(Expr(1)));
  }
  const Expr have = product(context.inputs[0].shape);
  const Expr others = product(shape);
  if (!free) {
    if (!unify(have, others)) return fail(context, "the shape has another number of elements");
    return shape;
  }
  const auto all = have.constant();
  const auto part = others.constant();
  if (part == 0) return fail(context, "-1 next to 0 could be any number");
  if (all && part && *all % *part != 0) {
    return fail(context, "the shape does not divide the number of elements");
  }
  shape[*free] = floor_div(have, others);
  return shape;
}

InferResult infer_reshape(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, 1));
  if (!length) {
    return fail(context, "the rank of the result is not known", ErrorCode::kUnsupported);
  }
  if (*length > Dims::kMaxRank) {
    return fail(context, fmt::format("rank {} is more than {}", *length, Dims::kMaxRank),
                ErrorCode::kUnsupported);
  }
  const auto wanted = context.exprs(1);
  if (!wanted) {
    return one_output(context.inputs[0].dtype,
                      fresh_shape(context, static_cast<std::size_t>(*length)));
  }
  PX_ASSIGN(Shape shape, wanted_shape(context, *wanted));
  return reshaped(context, std::move(shape));
}

/// Returns the elements of the axes input; nullopt if they are known only during a run.
Result<std::optional<std::vector<std::int64_t>>> listed_axes(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  // One axis may be a scalar.
  if (rank_of(context.inputs[1]) > 1) return fail(context, "the axes must be a list");
  return context.known_ints(1);
}

/// The result where only a run knows the axes, but their number and so the rank is known.
InferResult shape_of_rank(const InferContext& context, int sign) {
  const Shape& axes = context.inputs[1].shape;
  const auto count = axes.empty() ? std::optional<std::int64_t>(1) : axes[0].constant();
  if (!count || *count < 0 || *count > Dims::kMaxRank) {
    return fail(context, "the number of axes must be known", ErrorCode::kUnsupported);
  }
  const std::int64_t rank = rank_of(context.inputs[0]) + sign * *count;
  if (rank < 0 || rank > Dims::kMaxRank) return fail(context, "there are too many axes");
  return one_output(context.inputs[0].dtype, fresh_shape(context, static_cast<std::size_t>(rank)));
}

/// A rank is fixed when a model is loaded. ONNX Runtime runs such a model, so its user does not
/// suspect the node: the error says what to change and where.
InferResult unknown_rank(const InferContext& context, std::size_t axis) {
  return fail(context,
              fmt::format("without axes the rank of the result depends on dimension {} of the "
                          "input, which only a run knows (ONNX Runtime decides then; Parallax "
                          "fixes ranks while loading): list the axes, or give that dimension a "
                          "size in the file or in LoadOptions::inputs (--dim, --shape)",
                          axis),
              ErrorCode::kUnsupported);
}

InferResult infer_squeeze(const InferContext& context) {
  const Shape& from = context.inputs[0].shape;
  std::vector<bool> dropped(from.size(), false);
  if (context.has(1)) {
    PX_ASSIGN(const auto listed, listed_axes(context));
    if (!listed) return shape_of_rank(context, -1);
    PX_ASSIGN(const auto axes, normalize_axes(context, *listed, rank_of(context.inputs[0])));
    for (int axis : axes) dropped[static_cast<std::size_t>(axis)] = true;
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto dim = from[i].constant();
      if (!dim && !is_non_negative(from[i] - 2)) return unknown_rank(context, i);
      dropped[i] = dim == 1;
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!dropped[i]) {
      shape.push_back(from[i]);
    } else if (!unify(from[i], 1)) {
      return fail(context, fmt::format("axis {} is not 1", i));
    }
  }
  return reshaped(context, std::move(shape));
}

InferResult infer_unsqueeze(const InferContext& context) {
  PX_ASSIGN(const auto listed, listed_axes(context));
  if (!listed) return shape_of_rank(context, 1);
  const Shape& from = context.inputs[0].shape;
  const std::size_t rank = from.size() + listed->size();
  if (rank > static_cast<std::size_t>(Dims::kMaxRank)) {
    return fail(context, fmt::format("rank {} is more than {}", rank, Dims::kMaxRank),
                ErrorCode::kUnsupported);
  }
  PX_ASSIGN(const auto axes, normalize_axes(context, *listed, static_cast<int>(rank)));
  std::vector<bool> added(rank, false);
  for (int axis : axes) added[static_cast<std::size_t>(axis)] = true;
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(added[i] ? Expr(1) : from[next++]);
  return reshaped(context, std::move(shape));
}

InferResult infer_flatten(const InferContext& context) {
  const Shape& from = context.inputs[0].shape;
  PX_ASSIGN(const auto params, read_params<FlattenParams>(context));
  const std::int64_t axis = params.axis;
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank) {
    return fail(context, fmt::format("axis {} is outside rank {}", axis, rank));
  }
  const auto middle = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return reshaped(context, {product(from, 0, middle), product(from, middle, from.size())});
}

InferResult infer_identity(const InferContext& context) {
  return reshaped(context, context.inputs[0].shape);
}

OpDef view(OpKind kind, int inputs, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, {.work = WorkKind::kMovement,
                   .flops = PaperFlops::kNone,
                   .nhwc = NhwcRule::kNone,
                   .rows = RowRule::kView,
                   .form = ConformanceForm::kOwn});
  def.min_inputs = inputs;
  def.max_inputs = inputs;
  def.infer = infer;
  def.macs = macs_none;
  def.aliasing = Aliasing::kView;
  def.shape_inputs = inputs > 1 ? 0b10 : 0;
  return def;
}

}  // namespace

const OpDef& op_def_Reshape() {
  static const OpDef def = [] {
    OpDef d = view(OpKind::kReshape, 2, infer_reshape);
    d.attributes = attributes_of<ReshapeParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Squeeze() {
  static const OpDef def = [] {
    OpDef d = view(OpKind::kSqueeze, 2, infer_squeeze);
    d.min_inputs = 1;
    return d;
  }();
  return def;
}

const OpDef& op_def_Unsqueeze() {
  static const OpDef def = view(OpKind::kUnsqueeze, 2, infer_unsqueeze);
  return def;
}

const OpDef& op_def_Flatten() {
  static const OpDef def = [] {
    OpDef d = view(OpKind::kFlatten, 1, infer_flatten);
    d.attributes = attributes_of<FlattenParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Identity() {
  static const OpDef def = view(OpKind::kIdentity, 1, infer_identity);
  return def;
}

}  // namespace parallax
