#include "kernels/cpu/gemm/epilogue.h"

namespace parallax {

void begin_epilogue(const GemmType& type, const Unary& activation, MatMulPanel& panel) {
  panel.relu = type.relu && activation == UnaryFunction::kRelu;
}

void finish_epilogue(const MatMulPanel& panel, const Unary& activation) {
  if (activation == UnaryFunction::kNone || panel.relu) return;
  auto* const c = static_cast<float*>(panel.c);
  if (panel.columns == panel.ldc) {
    apply_unary(activation, c, c, panel.rows * panel.columns);
  } else {
    apply_unary_rows(activation, c, panel.ldc, panel.rows, panel.columns);
  }
}

}  // namespace parallax
