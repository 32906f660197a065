// Emits MatMul and Gemm.
#include "ops/params/matmul.h"
#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/common.h"

namespace parallax::opencl {
namespace {

std::int32_t int_of(std::int64_t x) { return static_cast<std::int32_t>(x); }

/// Sets dims and strides over the leading axes of a product, merged if both operands allow it.
Status set_batches(ProductArgument& p, const Dims& dims, const Strides& a, const Strides& b) {
  const Walk walk = walk_of(dims, {a, b});
  p.batches = int_of(dims.elements());
  if (walk.space.rank > static_cast<std::int32_t>(p.batch.size()))
    return not_covered("more than four axes of batches");
  for (std::size_t k = 0; k < p.batch.size(); ++k) {
    p.batch[k] = walk.space.dims[k];
    p.a_batch[k] = walk.operands[0].at[k];
    p.b_batch[k] = walk.operands[1].at[k];
  }
  return {};
}

Dims without_last(const Dims& dims, int drop) {
  return Dims(dims.span().first(static_cast<std::size_t>(std::max(dims.rank() - drop, 0))));
}

Strides batch_strides(const Dims& operand, const Dims& batch) {
  Strides strides = broadcast_strides(without_last(operand, 2), batch);
  const std::int64_t matrix = count_of(operand, std::max(operand.rank() - 2, 0), operand.rank());
  for (std::int64_t& stride : strides) stride *= matrix;
  return strides;
}

/// Returns b with contiguous columns, which matmul_rows needs.
TensorArgument with_neighbours(Emission& e, ProductArgument& p, TensorArgument b) {
  Dims dims;
  Strides strides{};
  std::int64_t matrices = 1;
  for (std::size_t k = p.batch.size(); k-- > 0;) {
    const bool repeats = p.b_batch[k] == 0;
    strides[static_cast<std::size_t>(dims.rank())] = p.b_batch[k];
    dims.push_back(repeats ? 1 : p.batch[k]);
  }
  for (std::size_t k = 0; k < p.batch.size(); ++k) {
    if (p.b_batch[k] == 0) continue;
    p.b_batch[k] = int_of(matrices * p.k * p.n);
    matrices *= p.batch[k];
  }
  strides[static_cast<std::size_t>(dims.rank())] = p.b_row;
  dims.push_back(p.k);
  strides[static_cast<std::size_t>(dims.rank())] = p.b_column;
  dims.push_back(p.n);
  const TensorArgument moved = e.scratch(dims.elements());
  emit_move(e, dims, b, strides, moved, row_major_strides(dims));
  p.b_row = p.n;
  p.b_column = 1;
  return moved;
}

}  // namespace

void emit_product(Emission& e, ProductArgument p, const ResultArgument& r, TensorArgument a,
                  TensorArgument b, TensorArgument c, TensorArgument y) {
  const auto batches = static_cast<std::size_t>(p.batches);
  const ProductSizes& sizes = matmul_sizes(e.kernels.tuning());
  if (e.through_local_memory) {
    e.launch(KernelId::matmul_tiles,
             {groups_of(p.n, sizes.tile), groups_of(p.m, sizes.tile), batches}, {p, r, a, b, c, y});
    return;
  }
  if (p.b_column != 1 && p.n > 1 && p.k > 0) b = with_neighbours(e, p, b);
  e.launch(KernelId::matmul_rows, {groups_of(p.n, 16), groups_of(p.m, sizes.rows * 8), batches},
           {p, r, a, b, c, y});
}

Status emit_matmul(Emission& e) {
  if (e.out().elements() == 0) return {};
  const Dims &a = e.in(0), &b = e.in(1);
  if (a.rank() == 0 || b.rank() == 0) return bad_step("a scalar is not a matrix");
  ProductArgument p;
  p.k = int_of(a[a.rank() - 1]);
  p.m = int_of(a.rank() > 1 ? a[a.rank() - 2] : 1);
  p.n = int_of(b.rank() > 1 ? b[b.rank() - 1] : 1);
  if (b[std::max(b.rank() - 2, 0)] != p.k) return bad_step("inner dimensions differ");
  p.a_row = p.k;
  p.a_column = 1;
  p.b_row = p.n;
  p.b_column = 1;
  const Dims batch = without_last(e.out(), (a.rank() > 1 ? 1 : 0) + (b.rank() > 1 ? 1 : 0));
  PX_RETURN_IF_ERROR(set_batches(p, batch, batch_strides(a, batch), batch_strides(b, batch)));
  // All rows of a times one matrix are one product.
  const bool one_b = std::ranges::all_of(p.b_batch, [](std::int32_t s) { return s == 0; });
  if (one_b && a.elements() == std::int64_t{p.batches} * p.m * p.k) {
    p.m *= p.batches;
    p.batches = 1;
    p.batch.fill(1);
    p.a_batch.fill(0);
  }
  ResultArgument r{e.finish.scale, 1, 0, 0, 1, e.finish.then};
  r.has_c = e.finish.c.desc.present ? 1 : 0;
  emit_product(e, p, r, e.input(0), e.input(1), argument_of(e.finish.c), e.output());
  return {};
}

/// alpha * A' * B' + beta * C.
Status emit_gemm(Emission& e) {
  if (e.out().elements() == 0) return {};
  const auto params = params_of<GemmParams>(e.node);
  const bool trans_a = params.trans_a, trans_b = params.trans_b;
  const Dims& a = e.in(0);
  ProductArgument p;
  p.m = int_of(e.out()[0]);
  p.n = int_of(e.out()[1]);
  p.k = int_of(a[trans_a ? 0 : 1]);
  if (a.elements() != std::int64_t{p.m} * p.k || e.in(1).elements() != std::int64_t{p.k} * p.n)
    return bad_step("inner dimensions differ");
  p.a_row = trans_a ? 1 : p.k;
  p.a_column = trans_a ? p.m : 1;
  p.b_row = trans_b ? 1 : p.n;
  p.b_column = trans_b ? p.k : 1;
  p.batches = 1;
  ResultArgument r{params.alpha, params.beta, 0, 0, 0, e.finish.then};
  if (e.has(2)) {
    const Strides c = broadcast_strides(e.in(2), e.out());
    r.has_c = 1;
    r.c_row = int_of(c[0]);
    r.c_column = int_of(c[1]);
  }
  emit_product(e, p, r, e.input(0), e.input(1), e.input(2), e.output());
  return {};
}

}  // namespace parallax::opencl
