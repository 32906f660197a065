#include "kernels/cpu/gemm/epilogue.h"

#include "kernels/cpu/elementwise/binary_loops.h"

namespace parallax {
namespace {

void add_residual(const MatMulPanel& panel, const float* residual) {
  auto* c = static_cast<float*>(panel.c);
  BinaryRows row;
  row.rows = 1;
  row.columns = panel.columns;
  for (std::size_t i = 0; i < panel.rows; ++i, c += panel.ldc, residual += panel.ldc) {
    row.a = row.y = c;
    row.b = residual;
    apply_binary(BinaryFunction::kAdd, row);
  }
}

}  // namespace

void begin_epilogue(const GemmType& type, const Unary& activation, MatMulPanel& panel,
                    const float* residual) {
  if (!type.finishes) return;
  panel.residual = residual;
  panel.bounds = bounds_of(activation);
}

void finish_epilogue(const MatMulPanel& panel, const Unary& activation, const float* residual) {
  if (residual != nullptr && panel.residual == nullptr) add_residual(panel, residual);
  if (activation == UnaryFunction::kNone || panel.bounds.any()) return;
  auto* const c = static_cast<float*>(panel.c);
  if (panel.columns == panel.ldc) {
    apply_unary(activation, c, c, panel.rows * panel.columns);
  } else {
    apply_unary_rows(activation, c, panel.ldc, panel.rows, panel.columns);
  }
}

}  // namespace parallax
