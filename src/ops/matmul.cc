// MatMul and Gemm.
#include <fmt/core.h>

#include <algorithm>

#include "ops/common.h"
#include "ops/params/matmul.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"

namespace parallax {

namespace {

Status check_operands(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kWideTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
  }
  return context.node.epilogue.empty() ? Status() : expect_dtype(context, 0, kFloatTypes);
}

/// The shape of the result, whose bias is input `bias`. A vector on the left is a row, one on the
/// right a column; that axis is not in the result.
Result<Shape> product_shape(const InferContext& context, std::size_t bias) {
  Shape a = context.inputs[0].shape;
  PX_ASSIGN(Shape b,
            permuted_shape(context, param_name(&MatMulParams::b_perm),
                           params_of<MatMulParams>(context.node).b_perm, context.inputs[1].shape));
  if (a.empty() || b.empty()) return fail(context, "a scalar cannot be multiplied");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), Expr(1));
  if (column) b.emplace_back(1);
  if (!unify(a.back(), b[b.size() - 2])) return fail(context, "inner dimensions differ");
  const Expr m = a[a.size() - 2];
  const Expr n = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  PX_ASSIGN(Shape shape, broadcast(a, b, context));
  if (!row) shape.push_back(m);
  if (!column) shape.push_back(n);
  PX_RETURN_IF_ERROR(expect_rank(context, bias, 1));
  if (context.has(bias) && (column || !unify(context.inputs[bias].shape[0], n))) {
    return fail(context, "the bias must have one element per column");
  }
  return shape;
}

InferResult infer_matmul(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_operands(context));
  PX_ASSIGN(Shape shape, product_shape(context, 2));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// Whether only the sizes of a run can refute that the size is 1.
bool may_be_one(const Expr& dim) { return dim.constant().value_or(1) == 1; }

/// Zero point or scale `i` of operand `operand`: one number; one for each row of the left operand,
/// or column of the right one, with as many dimensions, the other one 1; or, for a matrix, a vector
/// of them.
Status check_lines(const InferContext& context, std::size_t i, std::size_t operand) {
  if (!context.has(i) || std::ranges::all_of(context.inputs[i].shape, may_be_one)) return {};
  const Shape& lines = context.inputs[i].shape;
  const Shape& matrix = context.inputs[operand].shape;
  const std::size_t rank = matrix.size();
  if (rank >= 2 && lines.size() == 1 && unify(lines[0], matrix[rank - (operand == 0 ? 2 : 1)]))
    return {};
  bool fits = rank >= 2 && lines.size() == rank;
  for (std::size_t axis = 0; fits && axis < rank; ++axis) {
    const bool across = axis + (operand == 0 ? 1 : 2) == rank;
    fits = across ? may_be_one(lines[axis]) : unify(lines[axis], matrix[axis]).has_value();
  }
  if (fits) return {};
  return fail(context, fmt::format("input {} does not fit input {}", i, operand));
}

InferResult infer_matmul_integer(const InferContext& context) {
  PX_ASSIGN(const DType result, integer_product_type(context));
  PX_ASSIGN(Shape shape, product_shape(context, kProductBias));
  for (const std::size_t i : {kProductXZero, kProductXScale})
    PX_RETURN_IF_ERROR(check_lines(context, i, kProductX));
  for (const std::size_t i : {kProductWZero, kProductWScale})
    PX_RETURN_IF_ERROR(check_lines(context, i, kProductW));
  return one_output(result, std::move(shape));
}

std::int64_t macs_matmul(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.empty() || outputs.empty() || inputs[0].rank() == 0) return 0;
  return saturating_mul(saturating_elements(outputs[0]), inputs[0][inputs[0].rank() - 1]);
}

InferResult infer_gemm(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_operands(context));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 2));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 2));
  PX_ASSIGN(const auto params, read_params<GemmParams>(context));
  const Shape& a = context.inputs[0].shape;
  const Shape& b = context.inputs[1].shape;
  if (!unify(a[params.trans_a ? 0 : 1], b[params.trans_b ? 1 : 0])) {
    return fail(context, "inner dimensions differ");
  }
  Shape shape = {a[params.trans_a ? 1 : 0], b[params.trans_b ? 0 : 1]};
  if (context.has(2)) {
    const Shape& c = context.inputs[2].shape;
    if (c.size() > 2) return fail(context, "input 2 must have rank 2 or less");
    for (std::size_t back = 1; back <= c.size(); ++back) {
      const Expr& dim = c[c.size() - back];
      if (dim == Expr(1) || unify(dim, shape[2 - back])) continue;
      return fail(context, "input 2 does not broadcast to the result");
    }
  }
  return one_output(context.inputs[0].dtype, std::move(shape));
}

std::int64_t macs_gemm(const Node& node, std::span<const Dims> inputs,
                       std::span<const Dims> outputs) {
  if (inputs.empty() || outputs.empty() || inputs[0].rank() != 2) return 0;
  const bool trans_a = params_of<GemmParams>(node).trans_a;
  return saturating_mul(saturating_elements(outputs[0]), inputs[0][trans_a ? 0 : 1]);
}

}  // namespace

const OpDef& op_def_MatMul() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMatMul, {.work = WorkKind::kProduct,
                              .flops = PaperFlops::kProduct,
                              .nhwc = NhwcRule::kNone,
                              .rows = RowRule::kMatMul,
                              .form = ConformanceForm::kOwn});
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.internal_inputs = 1;
    d.attributes = attributes_of<MatMulParams>();
    d.epilogue = true;
    d.infer = infer_matmul;
    d.macs = macs_matmul;
    return d;
  }();
  return def;
}

const OpDef& op_def_MatMulInteger() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMatMulInteger, whole_tensors(WorkKind::kProduct, ConformanceForm::kOwn));
    d.since = 10;
    d.min_inputs = 2;
    d.max_inputs = kProductInputs;
    d.internal_inputs = kProductInputs - kProductXScale;
    d.attributes = attributes_of<ByteTableParams>();
    d.epilogue = true;
    d.infer = infer_matmul_integer;
    d.macs = macs_matmul;
    return d;
  }();
  return def;
}

const OpDef& op_def_Gemm() {
  static const OpDef def = [] {
    OpDef d(OpKind::kGemm, {.work = WorkKind::kProduct,
                            .flops = PaperFlops::kProduct,
                            .nhwc = NhwcRule::kNone,
                            .rows = RowRule::kGemm,
                            .form = ConformanceForm::kOwn});
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.attributes = attributes_of<GemmParams>();
    d.epilogue = true;
    d.infer = infer_gemm;
    d.macs = macs_gemm;
    return d;
  }();
  return def;
}

}  // namespace parallax
