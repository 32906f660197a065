// Gather, GatherND and ScatterND: elements chosen by an index tensor.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/indexing.h"
#include "ops/params/movement.h"

namespace parallax {

namespace {

Content gathered_content(const InferContext& context, const Shape& shape, int axis) {
  const InferInput& data = context.inputs[0];
  const auto size = content_size(shape);
  if (!has_content(data.dtype) || !size || !content_size(data.shape)) return std::nullopt;
  const auto indices = context.known_ints(1);
  const auto elements = context.exprs(0);
  if (!indices || !elements) return std::nullopt;
  const Dims from = *concrete(data.shape);
  const Dims to = *concrete(shape);
  const Dims index_dims = *concrete(context.inputs[1].shape);
  std::vector<Expr> result;
  bool inside = true;
  for_each_index(to, [&](const Dims& index) {
    if (!inside) return;
    Dims which = index_dims;
    for (int i = 0; i < which.rank(); ++i) which[i] = index[axis + i];
    const auto at =
        normalize_axis((*indices)[offset_of(index_dims, which)], static_cast<int>(from[axis]));
    inside = at.has_value();
    if (!inside) return;
    Dims source = from;
    for (int i = 0; i < axis; ++i) source[i] = index[i];
    source[axis] = *at;
    for (int i = axis + 1; i < from.rank(); ++i) source[i] = index[i + which.rank() - 1];
    result.push_back((*elements)[offset_of(from, source)]);
  });
  if (!inside) return std::nullopt;  // the kernel reports it
  return result;
}

InferResult infer_gather(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kIndexTypes));
  const InferInput& data = context.inputs[0];
  const Shape& indices = context.inputs[1].shape;
  PX_ASSIGN(const auto params, read_params<GatherParams>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(data)));
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  Content content = gathered_content(context, shape, axis);
  return one_output(data.dtype, std::move(shape), std::move(content));
}

/// Length of one index: the last dimension of input 1, at most `most`.
Result<std::size_t> index_length(const InferContext& context, std::size_t most) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  const Shape& indices = context.inputs[1].shape;
  if (indices.empty()) return fail(context, "the indices must have rank 1 or more");
  const auto length = indices.back().constant();
  if (!length) {
    return fail(context, "the length of an index must be known", ErrorCode::kUnsupported);
  }
  if (*length < 1 || *length > static_cast<std::int64_t>(most)) {
    return fail(context, fmt::format("an index of {} numbers", *length));
  }
  return static_cast<std::size_t>(*length);
}

InferResult infer_gather_nd(const InferContext& context) {
  const InferInput& data = context.inputs[0];
  const Shape& indices = context.inputs[1].shape;
  PX_ASSIGN(const auto params, read_params<GatherNDParams>(context));
  const std::int64_t stated = params.batch_dims;
  const std::size_t least = std::min(data.shape.size(), indices.size());
  if (stated < 0 || stated >= static_cast<std::int64_t>(least)) {
    return fail(context, fmt::format("batch_dims {} is outside the ranks", stated));
  }
  const auto batch = static_cast<std::size_t>(stated);
  PX_ASSIGN(const auto length, index_length(context, data.shape.size() - batch));
  Shape shape(indices.begin(), indices.end() - 1);
  for (std::size_t i = 0; i < batch; ++i) {
    const auto both = unify(indices[i], data.shape[i]);
    if (!both) return fail(context, fmt::format("inputs differ on batch axis {}", i));
    shape[i] = *both;
  }
  shape.insert(shape.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(batch + length),
               data.shape.end());
  return one_output(data.dtype, std::move(shape));
}

InferResult infer_scatter_nd(const InferContext& context) {
  PX_RETURN_IF_ERROR(read_params<ScatterNDParams>(context));
  const InferInput& data = context.inputs[0];
  if (data.shape.empty()) return fail(context, "input 0 must have rank 1 or more");
  PX_ASSIGN(const auto length, index_length(context, data.shape.size()));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 2));
  const Shape& indices = context.inputs[1].shape;
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(length),
                 data.shape.end());
  const Shape& given = context.inputs[2].shape;
  bool agree = given.size() == updates.size();
  for (std::size_t i = 0; agree && i < given.size(); ++i) {
    agree = unify(given[i], updates[i]).has_value();
  }
  if (!agree) return fail(context, "the updates do not match data and indices");
  return one_output(data.dtype, data.shape);
}

}  // namespace

const OpDef& op_def_Gather() {
  static const OpDef def = [] {
    OpDef d(OpKind::kGather, {.work = WorkKind::kMovement,
                              .flops = PaperFlops::kNone,
                              .nhwc = NhwcRule::kNone,
                              .rows = RowRule::kGather,
                              .form = ConformanceForm::kOwn});
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<GatherParams>();
    d.infer = infer_gather;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

const OpDef& op_def_GatherND() {
  static const OpDef def = [] {
    OpDef d(OpKind::kGatherND, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 11;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<GatherNDParams>();
    d.infer = infer_gather_nd;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

const OpDef& op_def_ScatterND() {
  static const OpDef def = [] {
    OpDef d(OpKind::kScatterND, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 11;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<ScatterNDParams>();
    d.infer = infer_scatter_nd;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

}  // namespace parallax
