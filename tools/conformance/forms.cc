#include "forms.h"

#include <algorithm>

#include "forms_compute.h"
#include "forms_elementwise.h"
#include "forms_networks.h"
#include "forms_shape.h"
#include "forms_vision.h"
#include "ops/op.h"

namespace parallax::conformance {
namespace {

/// The row of a form that several operators share.
std::optional<OperatorRow> shared_row(OpKind op, ConformanceForm form) {
  switch (form) {
    case ConformanceForm::kOwn:
      break;
    case ConformanceForm::kUnary:
      return OperatorRow{op, kUnaryForms};
    case ConformanceForm::kUnaryOfPositive:
      return OperatorRow{op, kUnaryForms, {}, "p"};
    case ConformanceForm::kUnaryOfNonZero:
      return OperatorRow{op, kUnaryForms, {}, "d"};
    case ConformanceForm::kBinary:
      return OperatorRow{op, kBinaryForms};
    case ConformanceForm::kDivision:
      return OperatorRow{op, kBinaryForms, {}, "x", "d"};
    case ConformanceForm::kComparison:
      return OperatorRow{op, kBinaryForms, {}, "q", "q2"};
    case ConformanceForm::kReduction:
      return OperatorRow{op, kReduceForms};
    case ConformanceForm::kReductionOfPositive:
      return OperatorRow{op, kReduceForms, {}, "p"};
    case ConformanceForm::kBodies:
      return OperatorRow{.op = op, .never = "the host runs the bodies"};
    case ConformanceForm::kSizedByRunning:
      return OperatorRow{.op = op, .never = "only running tells the size of the result"};
    case ConformanceForm::kOfTheCpu:
      return OperatorRow{.op = op, .never = "only the CPU's graph has it"};
    case ConformanceForm::kFolded:
      return OperatorRow{.op = op, .never = "the sizes tell the result: the host computes it"};
    case ConformanceForm::kObjects:
      return std::nullopt;
  }
  return OperatorRow{.op = op};
}

constexpr Form kGraphForms[] = {
    {"a chain",
     "symbols n\ninput x f32 [n, 24]\na = $W(x)\nb = $W(a)\nd = $W(b)\ne = $W(d)\n"
     "f = $W(e)\ny = $W(f)"},
    {"a value read often, several results",
     "input x f32 [3, 5]\na = $W(x)\nb = $W(a)\nd = $W(a)\ne = $W(d)\noutput a, b, e"},
    {"a residual of products",
     "symbols n\ninput x f32 [n, 16]\nconst w f32 [16, 33] = fill 1\nconst w2 f32 [33, 16] = fill "
     "1\n"
     "a = MatMul(x, w)\nb = Relu(a)\nd = MatMul(b, w2)\ny = Add(x, d)"},
    {"an attention block",
     "symbols n\ninput x f32 [2, n, 16]\nconst w f32 [16, 16] = fill 1\n"
     "const w2 f32 [16, 16] = fill 1\nconst w3 f32 [16, 16] = fill 1\n"
     "const c_scale f32 [] = [0.0625]\nconst cs i64 [4] = [0, 0, 4, 4]\n"
     "symbolic back i64 [3] = [2, n, 16]\n"
     "q = MatMul(x, w)\nk = MatMul(x, w2)\nv = MatMul(x, w3)\n"
     "q4 = Reshape(q, cs)\nk4 = Reshape(k, cs)\nv4 = Reshape(v, cs)\n"
     "qh = Transpose(q4) {perm = [0, 2, 1, 3]}\nkh = Transpose(k4) {perm = [0, 2, 3, 1]}\n"
     "vh = Transpose(v4) {perm = [0, 2, 1, 3]}\ns = MatMul(qh, kh)\nt = Mul(s, c_scale)\n"
     "u = Softmax(t)\nz = MatMul(u, vh)\nzt = Transpose(z) {perm = [0, 2, 1, 3]}\n"
     "r = Reshape(zt, back)\ny = Add(r, x)"},
    {"a fused attention block",
     "symbols n\ninput x f32 [2, n, 16]\nconst w f32 [16, 16] = fill 1\n"
     "const w2 f32 [16] = fill 1\nconst w3 f32 [16] = fill 1\n"
     "a = LayerNormalization(x, w2, w3)\nq = MatMul(a, w)\n"
     "k = Transpose(q) {perm = [0, 2, 1]}\nz = FusedAttention(q, k, a) {scale = 0.0625}\n"
     "y = Add(z, x)"},
    {"a convolution block",
     "symbols n\ninput x f32 [n, 3, 12, 12]\nconst w f32 [8, 3, 3, 3] = fill 1\n"
     "const w2 f32 [8] = fill 1\nconst w3 f32 [8, 8, 1, 1] = fill 1\n"
     "a = Conv(x, w, w2) {pads = [1, 1, 1, 1], strides = [2, 2]}\nb = Relu(a)\n"
     "d = Conv(b, w3)\ne = Add(d, b)\n"
     "y = MaxPool(e) {kernel_shape = [2, 2], strides = [2, 2]}"},
    {"branches that meet",
     "symbols n m\ninput x f32 [1, 4, n, m]\nconst w f32 [4, 4, 1, 1] = fill 1\n"
     "const w2 f32 [2, 4, 3, 3] = fill 1\na = Conv(x, w)\ns = Sigmoid(a)\nb = Mul(a, s)\n"
     "d = Conv(b, w2) {pads = [1, 1, 1, 1]}\ny = Concat(b, d, x) {axis = 1}"},
};

}  // namespace

std::span<const Form> graph_forms() { return kGraphForms; }

std::optional<OperatorRow> operator_row(OpKind op) {
  constexpr std::span<const OperatorRow> kOwnRows[] = {kComputeRows, kElementwiseRows,
                                                       kNetworksRows, kShapeRows, kVisionRows};
  const ConformanceForm form = op_def(op).traits.form;
  if (form != ConformanceForm::kOwn) return shared_row(op, form);
  for (const auto rows : kOwnRows)
    if (const auto row = std::ranges::find(rows, op, &OperatorRow::op); row != rows.end())
      return *row;
  return OperatorRow{.op = op};
}

}  // namespace parallax::conformance
