// MatMul and Gemm.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/matmul.h"

namespace parallax {

namespace {

Status check_operands(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kWideTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
  }
  return context.node.epilogue.empty() ? Status() : expect_dtype(context, 0, kFloatTypes);
}

/// A vector on the left is a row, one on the right a column; that axis is not in the result.
InferResult infer_matmul(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_operands(context));
  Shape a = context.inputs[0].shape;
  PX_ASSIGN(Shape b, permuted_shape(context, kMatMulPerm, context.inputs[1].shape));
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
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  if (context.has(2) && (column || !unify(context.inputs[2].shape[0], n))) {
    return fail(context, "the bias must have one element per column");
  }
  return one_output(context.inputs[0].dtype, std::move(shape));
}

std::int64_t macs_matmul(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.empty() || outputs.empty() || inputs[0].rank() == 0) return 0;
  return saturating_mul(saturating_elements(outputs[0]), inputs[0][inputs[0].rank() - 1]);
}

InferResult infer_gemm(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_operands(context));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 2));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 2));
  PX_ASSIGN(const bool trans_a, flag_attribute(context, "transA", false));
  PX_ASSIGN(const bool trans_b, flag_attribute(context, "transB", false));
  const Shape& a = context.inputs[0].shape;
  const Shape& b = context.inputs[1].shape;
  if (!unify(a[trans_a ? 0 : 1], b[trans_b ? 1 : 0])) {
    return fail(context, "inner dimensions differ");
  }
  Shape shape = {a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
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
  const bool trans_a = node.attributes.get_int("transA", 0) != 0;
  return saturating_mul(saturating_elements(outputs[0]), inputs[0][trans_a ? 0 : 1]);
}

}  // namespace

const OpDef& op_def_MatMul() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kMatMul;
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.internal_inputs = 1;
    d.attributes = {{kMatMulPerm, AttributeType::kInts, true}};
    d.epilogue = true;
    d.infer = infer_matmul;
    d.macs = macs_matmul;
    return d;
  }();
  return def;
}

const OpDef& op_def_Gemm() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kGemm;
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.attributes = {{"alpha", AttributeType::kFloat},
                    {"beta", AttributeType::kFloat},
                    {"transA", AttributeType::kInt},
                    {"transB", AttributeType::kInt}};
    d.epilogue = true;
    d.infer = infer_gemm;
    d.macs = macs_gemm;
    return d;
  }();
  return def;
}

}  // namespace parallax
