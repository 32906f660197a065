// Operators that rearrange blocks of an image or parts of sequences: DepthToSpace, SpaceToDepth,
// Col2Im, ReverseSequence.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/movement.h"
#include "ops/window.h"

namespace parallax {

namespace {

/// blocksize * blocksize, which 63 bits hold.
Result<std::int64_t> block_area(const InferContext& context, std::int64_t block) {
  const auto area = checked_mul(block, block);
  if (block >= 1 && area) return *area;
  return fail(context, fmt::format("blocksize {} is not possible", block));
}

/// `dim` / `divisor`; refuses what is known to leave a rest.
Result<Expr> divided(const InferContext& context, const Expr& dim, std::int64_t divisor) {
  const auto known = dim.constant();
  if (known && *known % divisor != 0) {
    return fail(context, fmt::format("{} does not divide {}", divisor, *known));
  }
  return floor_div(dim, Expr(divisor));
}

/// The size of a block.
Result<std::int64_t> block_size(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 4));
  PX_ASSIGN(const auto params, read_params<SpaceBlockParams>(context));
  return params.blocksize;
}

InferResult infer_depth_to_space(const InferContext& context) {
  PX_ASSIGN(const std::int64_t block, block_size(context));
  PX_ASSIGN(const std::int64_t area, block_area(context, block));
  Shape shape = context.inputs[0].shape;
  PX_ASSIGN(shape[1], divided(context, shape[1], area));
  shape[2] = shape[2] * Expr(block);
  shape[3] = shape[3] * Expr(block);
  return one_output(context.inputs[0].dtype, std::move(shape));
}

InferResult infer_space_to_depth(const InferContext& context) {
  PX_ASSIGN(const std::int64_t block, block_size(context));
  PX_ASSIGN(const std::int64_t area, block_area(context, block));
  Shape shape = context.inputs[0].shape;
  shape[1] = shape[1] * Expr(area);
  PX_ASSIGN(shape[2], divided(context, shape[2], block));
  PX_ASSIGN(shape[3], divided(context, shape[3], block));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// How often a block fits along an axis of the image.
Result<Expr> block_positions(const InferContext& context, const Expr& image, std::int64_t block,
                             std::int64_t pads, std::int64_t dilation, std::int64_t stride) {
  const auto reach = checked_mul(block - 1, dilation);
  if (block < 1 || !reach) return fail(context, "a block has an impossible size");
  const Expr room = image + Expr(pads) - Expr(*reach) - 1;
  if (is_negative(room)) return fail(context, "a block is larger than the image");
  return floor_div(room, Expr(stride)) + 1;
}

/// Checks the columns [N, C * block elements, positions] and gives the channels C.
Result<Expr> column_channels(const InferContext& context, std::span<const Expr> image,
                             std::span<const std::int64_t> block) {
  const std::size_t rank = image.size();
  PX_ASSIGN(auto params, read_params<Col2ImParams>(context));
  PX_RETURN_IF_ERROR(complete_windows(context, rank, params));
  Expr positions = 1;
  std::int64_t area = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const Padding padding = params.stated_padding(i, rank);
    const auto both = checked_add(padding.begin, padding.end);
    const auto larger = checked_mul(area, block[i]);
    if (!both || !larger) return fail(context, "a block has an impossible size");
    area = *larger;
    PX_ASSIGN(const Expr along, block_positions(context, image[i], block[i], *both,
                                                params.dilations[i], params.strides[i]));
    positions = positions * along;
  }
  if (!unify(positions, context.inputs[0].shape[2])) {
    return fail(context, "the number of columns is not that of the blocks");
  }
  return divided(context, context.inputs[0].shape[1], area);
}

InferResult infer_col2im(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 3));
  for (const std::size_t i : {1U, 2U}) PX_RETURN_IF_ERROR(expect_dtype(context, i, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, 1));
  PX_ASSIGN(const auto block_length, vector_length(context, 2));
  if (!length || *length < 1 || *length > Dims::kMaxRank - 2) {
    return fail(context, "the rank of the image is not known or too large",
                ErrorCode::kUnsupported);
  }
  if (block_length && *block_length != *length) {
    return fail(context, "image_shape and block_shape differ in length");
  }
  const InferInput& x = context.inputs[0];
  const auto rank = static_cast<std::size_t>(*length);
  const auto image = context.exprs(1);
  const auto block = context.known_ints(2);
  if (!image || !block) {
    Shape unknown = fresh_shape(context, rank + 2);
    unknown[0] = x.shape[0];
    return one_output(x.dtype, std::move(unknown));
  }
  for (const Expr& dim : *image) {
    if (is_negative(dim)) return fail(context, "the image has a negative dimension");
  }
  PX_ASSIGN(Expr channels, column_channels(context, *image, *block));
  Shape shape = {x.shape[0], std::move(channels)};
  shape.insert(shape.end(), image->begin(), image->end());
  return one_output(x.dtype, std::move(shape));
}

InferResult infer_reverse_sequence(const InferContext& context) {
  const InferInput& x = context.inputs[0];
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 1));
  if (rank_of(x) < 2) return fail(context, "input 0 must have rank 2 or more");
  PX_ASSIGN(const auto params, read_params<ReverseSequenceParams>(context));
  const std::int64_t batch = params.batch_axis, time = params.time_axis;
  if (batch < 0 || batch > 1 || time != 1 - batch) {
    return fail(context, "time_axis and batch_axis must be 0 and 1");
  }
  if (!unify(context.inputs[1].shape[0], x.shape[static_cast<std::size_t>(batch)])) {
    return fail(context, "there must be one length for each sequence");
  }
  return one_output(x.dtype, x.shape);
}

OpDef block_movement(OpKind kind, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
  def.attributes = attributes_of<SpaceBlockParams>();
  def.infer = infer;
  def.macs = macs_none;
  return def;
}

}  // namespace

const OpDef& op_def_DepthToSpace() {
  static const OpDef def = block_movement(OpKind::kDepthToSpace, infer_depth_to_space);
  return def;
}

const OpDef& op_def_SpaceToDepth() {
  static const OpDef def = block_movement(OpKind::kSpaceToDepth, infer_space_to_depth);
  return def;
}

/// Adds columns, each a block of an image, at the places of their blocks.
const OpDef& op_def_Col2Im() {
  static const OpDef def = [] {
    OpDef d(OpKind::kCol2Im, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 18;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<Col2ImParams>();
    d.infer = infer_col2im;
    d.macs = macs_per_input;
    d.shape_inputs = 0b110;
    return d;
  }();
  return def;
}

const OpDef& op_def_ReverseSequence() {
  static const OpDef def = [] {
    OpDef d(OpKind::kReverseSequence, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 10;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<ReverseSequenceParams>();
    d.infer = infer_reverse_sequence;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

}  // namespace parallax
