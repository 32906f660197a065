#include "delegates/conformance/forms.h"

#include <algorithm>

#include "delegates/conformance/forms_compute.h"
#include "delegates/conformance/forms_elementwise.h"
#include "delegates/conformance/forms_shape.h"

namespace parallax::conformance {
namespace {

constexpr const char* kBodies = "the host runs the bodies";
constexpr const char* kSized = "only running tells the size of the result";
constexpr const char* kFolded = "the sizes tell the result: the host computes it";

constexpr OperatorRow kOperatorRows[] = {
    {OpKind::kAbs, kUnaryForms},
    {OpKind::kAdd, kBinaryForms},
    {OpKind::kAnd, kBinaryForms},
    {OpKind::kArgMax, kArgMaxForms},
    {OpKind::kAveragePool, kPoolForms, kAveragePoolForms},
    {OpKind::kBatchNormalization, kBatchNormForms},
    {OpKind::kCast, kCastForms},
    {OpKind::kClip, kClipForms},
    {OpKind::kConcat, kConcatForms},
    {OpKind::kConstantOfShape, kConstantOfShapeForms},
    {OpKind::kConv, kConvForms},
    {OpKind::kCosineAttention, kCosineForms},
    {OpKind::kDiv, kBinaryForms, {}, "x", "d"},
    {OpKind::kEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kErf, kUnaryForms},
    {OpKind::kExp, kUnaryForms},
    {OpKind::kExpand, kExpandForms},
    {OpKind::kFlatten, kFlattenForms},
    {OpKind::kFusedAttention, kAttentionForms},
    {OpKind::kGather, kGatherForms},
    {OpKind::kGatherND, kGatherNdForms},
    {OpKind::kGelu, kUnaryForms, kGeluForms},
    {OpKind::kGemm, kGemmForms},
    {OpKind::kGlobalAveragePool, kGlobalPoolForms},
    {OpKind::kGreater, kBinaryForms, {}, "q", "q2"},
    {OpKind::kGreaterOrEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kHardSwish, kUnaryForms},
    {OpKind::kIdentity, kIdentityForms},
    {OpKind::kIf, {}, {}, "", "", "", kBodies},
    {OpKind::kIsNaN, kUnaryForms},
    {OpKind::kLayerNormalization, kLayerForms, kLayerBiasForms},
    {OpKind::kLess, kBinaryForms, {}, "q", "q2"},
    {OpKind::kLessOrEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kLog, kUnaryForms, {}, "p"},
    {OpKind::kLoop, {}, {}, "", "", "", kBodies},
    {OpKind::kLpNormalization, kLpForms},
    {OpKind::kMatMul, kMatMulForms},
    {OpKind::kMax, kBinaryForms, kVariadicForms},
    {OpKind::kMaxPool, kPoolForms},
    {OpKind::kMin, kBinaryForms, kVariadicForms},
    {OpKind::kMod, kBinaryForms, kModForms, "x", "d"},
    {OpKind::kMul, kBinaryForms},
    {OpKind::kNeg, kUnaryForms},
    {OpKind::kNonMaxSuppression, {}, {}, "", "", "", kSized},
    {OpKind::kNonZero, {}, {}, "", "", "", kSized},
    {OpKind::kNot, kUnaryForms},
    {OpKind::kOr, kBinaryForms},
    {OpKind::kPad, kPadForms},
    {OpKind::kPow, kBinaryForms, kPowForms, "p", "p2"},
    {OpKind::kRMSNormalization, kLayerForms},
    {OpKind::kRange, kRangeForms},
    {OpKind::kReciprocal, kUnaryForms, {}, "d"},
    {OpKind::kReduceL2, kReduceForms},
    {OpKind::kReduceMax, kReduceForms},
    {OpKind::kReduceMean, kReduceForms},
    {OpKind::kReduceSum, kReduceForms},
    {OpKind::kReduceSumSquare, kReduceForms},
    {OpKind::kRelu, kUnaryForms},
    {OpKind::kReshape, kReshapeForms},
    {OpKind::kResize, kResizeForms},
    {OpKind::kScan, {}, {}, "", "", "", kBodies},
    {OpKind::kScatterND, kScatterNdForms},
    {OpKind::kShape, {}, {}, "", "", "", kFolded},
    {OpKind::kSigmoid, kUnaryForms},
    {OpKind::kSilu, kUnaryForms, kSiluForms},
    {OpKind::kSize, {}, {}, "", "", "", kFolded},
    {OpKind::kSlice, kSliceForms},
    {OpKind::kSoftmax, kSoftmaxForms},
    {OpKind::kSplit, kSplitForms},
    {OpKind::kSqrt, kUnaryForms, {}, "p"},
    {OpKind::kSqueeze, kSqueezeForms},
    {OpKind::kSub, kBinaryForms},
    {OpKind::kTanh, kUnaryForms},
    {OpKind::kTile, kTileForms},
    {OpKind::kTopK, kTopKForms},
    {OpKind::kTranspose, kTransposeForms},
    {OpKind::kUnsqueeze, kUnsqueezeForms},
    {OpKind::kWhere, kWhereForms},
};

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

std::span<const OperatorRow> operator_rows() { return kOperatorRows; }
std::span<const Form> graph_forms() { return kGraphForms; }

const OperatorRow* operator_row(OpKind op) {
  const auto row = std::ranges::find(kOperatorRows, op, &OperatorRow::op);
  return row == std::end(kOperatorRows) ? nullptr : row;
}

}  // namespace parallax::conformance
