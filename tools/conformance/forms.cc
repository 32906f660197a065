#include "forms.h"

#include <algorithm>

#include "forms_compute.h"
#include "forms_elementwise.h"
#include "forms_networks.h"
#include "forms_shape.h"
#include "forms_vision.h"

namespace parallax::conformance {
namespace {

constexpr const char* kBodies = "the host runs the bodies";
constexpr const char* kSized = "only running tells the size of the result";
constexpr const char* kOfTheCpu = "only the CPU's graph has it";
constexpr const char* kFolded = "the sizes tell the result: the host computes it";

constexpr OperatorRow kOperatorRows[] = {
    {OpKind::kAbs, kUnaryForms},
    {OpKind::kAcos, kUnaryForms},
    {OpKind::kAcosh, kUnaryForms, {}, "p"},
    {OpKind::kAdd, kBinaryForms},
    {OpKind::kAnd, kBinaryForms},
    {OpKind::kArgMax, kArgMaxForms},
    {OpKind::kArgMin, kArgMaxForms},
    {OpKind::kAsin, kUnaryForms},
    {OpKind::kAsinh, kUnaryForms},
    {OpKind::kAtan, kUnaryForms},
    {OpKind::kAtanh, kUnaryForms},
    {OpKind::kAttention, kHeadsForms},
    {OpKind::kAveragePool, kPoolForms, kAveragePoolForms},
    {OpKind::kBatchNormalization, kBatchNormForms},
    {OpKind::kBernoulli, kDrawnLikeForms},
    {OpKind::kBitCast, kBitCastForms},
    {OpKind::kBitShift, kBinaryForms, kBitShiftForms, "x", "k", " {direction = \"LEFT\"}"},
    {OpKind::kBitwiseAnd, kBinaryForms},
    {OpKind::kBitwiseNot, kUnaryForms},
    {OpKind::kBitwiseOr, kBinaryForms},
    {OpKind::kBitwiseXor, kBinaryForms},
    {OpKind::kCast, kCastForms},
    {OpKind::kCastLike, kCastLikeForms},
    {OpKind::kCausalConvWithState, kCausalConvForms},
    {OpKind::kCeil, kUnaryForms},
    {OpKind::kCelu, kUnaryForms},
    {OpKind::kClip, kClipForms},
    {OpKind::kCol2Im, kCol2ImForms},
    {OpKind::kCompress, {}, {}, "", "", "", kSized},
    {OpKind::kConcat, kConcatForms},
    {OpKind::kConstantOfShape, kConstantOfShapeForms},
    {OpKind::kConv, kConvForms},
    {OpKind::kConvInteger, kConvIntegerForms},
    {OpKind::kConvTranspose, kConvTransposeForms},
    {OpKind::kCos, kUnaryForms},
    {OpKind::kCosh, kUnaryForms},
    {OpKind::kCosineAttention, kCosineForms},
    {OpKind::kCumProd, kCumulativeForms},
    {OpKind::kCumSum, kCumulativeForms},
    {OpKind::kDFT, kDftForms},
    {OpKind::kDeformConv, kDeformConvForms},
    {OpKind::kDepthToSpace, kSpaceForms},
    {OpKind::kDequantizeLinear, kDequantizeForms},
    {OpKind::kDet, kDetForms},
    {OpKind::kDiv, kBinaryForms, {}, "x", "d"},
    {OpKind::kDropout, kDropoutForms},
    {OpKind::kDynamicQuantizeLinear, kDynamicQuantizeForms},
    {OpKind::kEinsum, kEinsumForms},
    {OpKind::kElementwiseChain, {}, {}, "", "", "", kOfTheCpu},
    {OpKind::kElu, kUnaryForms},
    {OpKind::kEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kErf, kUnaryForms},
    {OpKind::kExp, kUnaryForms},
    {OpKind::kExpand, kExpandForms},
    {OpKind::kEyeLike, kEyeLikeForms},
    {OpKind::kFlatten, kFlattenForms},
    {OpKind::kFloor, kUnaryForms},
    {OpKind::kFusedAttention, kAttentionForms},
    {OpKind::kGRU, kGruForms},
    {OpKind::kGather, kGatherForms},
    {OpKind::kGatherElements, kGatherElementsForms},
    {OpKind::kGatherND, kGatherNdForms},
    {OpKind::kGelu, kUnaryForms, kGeluForms},
    {OpKind::kGemm, kGemmForms},
    {OpKind::kGlobalAveragePool, kGlobalPoolForms},
    {OpKind::kGlobalLpPool, kGlobalPoolForms},
    {OpKind::kGlobalMaxPool, kGlobalPoolForms},
    {OpKind::kGreater, kBinaryForms, {}, "q", "q2"},
    {OpKind::kGreaterOrEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kGridSample, kGridSampleForms},
    {OpKind::kGroupNormalization, kGroupNormForms},
    {OpKind::kHardSigmoid, kUnaryForms},
    {OpKind::kHardSwish, kUnaryForms},
    {OpKind::kHardmax, kSoftmaxForms, {}, "q"},
    {OpKind::kIdentity, kIdentityForms},
    {OpKind::kIf, {}, {}, "", "", "", kBodies},
    {OpKind::kImageDecoder, {}, {}, "", "", "", kSized},
    {OpKind::kInstanceNormalization, kChannelNormForms},
    {OpKind::kIsInf, kUnaryForms, kIsInfForms},
    {OpKind::kIsNaN, kUnaryForms},
    {OpKind::kLRN, kLrnForms},
    {OpKind::kLSTM, kLstmForms},
    {OpKind::kLayerNormalization, kLayerForms, kLayerBiasForms},
    {OpKind::kLeakyRelu, kUnaryForms},
    {OpKind::kLess, kBinaryForms, {}, "q", "q2"},
    {OpKind::kLessOrEqual, kBinaryForms, {}, "q", "q2"},
    {OpKind::kLinearAttention, kLinearAttentionForms},
    {OpKind::kLog, kUnaryForms, {}, "p"},
    {OpKind::kLogSoftmax, kSoftmaxForms},
    {OpKind::kLoop, {}, {}, "", "", "", kBodies},
    {OpKind::kLpNormalization, kLpForms},
    {OpKind::kLpPool, kPoolForms},
    {OpKind::kMatMul, kMatMulForms},
    {OpKind::kMatMulInteger, kMatMulIntegerForms},
    {OpKind::kMatMulNBits, kMatMulBitsForms},
    {OpKind::kMax, kBinaryForms, kVariadicForms},
    {OpKind::kMaxPool, kPoolForms},
    {OpKind::kMaxRoiPool, kMaxRoiPoolForms},
    {OpKind::kMaxUnpool, kUnpoolForms},
    {OpKind::kMelWeightMatrix, {}, {}, "", "", "", kSized},
    {OpKind::kMin, kBinaryForms, kVariadicForms},
    {OpKind::kMish, kUnaryForms},
    {OpKind::kMod, kBinaryForms, kModForms, "x", "d"},
    {OpKind::kMul, kBinaryForms},
    {OpKind::kMultinomial, kMultinomialForms},
    {OpKind::kNeg, kUnaryForms},
    {OpKind::kNonMaxSuppression, {}, {}, "", "", "", kSized},
    {OpKind::kNonZero, {}, {}, "", "", "", kSized},
    {OpKind::kNot, kUnaryForms},
    {OpKind::kOneHot, kOneHotForms},
    {OpKind::kOr, kBinaryForms},
    {OpKind::kPRelu, kPReluForms},
    {OpKind::kPad, kPadForms},
    {OpKind::kPow, kBinaryForms, kPowForms, "p", "p2"},
    {OpKind::kQuantizeLinear, kQuantizeForms},
    {OpKind::kRMSNormalization, kLayerForms},
    {OpKind::kRNN, kRnnForms},
    {OpKind::kRandomNormal, kDrawnForms},
    {OpKind::kRandomNormalLike, kDrawnLikeForms},
    {OpKind::kRandomUniform, kDrawnForms},
    {OpKind::kRandomUniformLike, kDrawnLikeForms},
    {OpKind::kRange, kRangeForms},
    {OpKind::kReciprocal, kUnaryForms, {}, "d"},
    {OpKind::kReduceL1, kReduceForms},
    {OpKind::kReduceL2, kReduceForms},
    {OpKind::kReduceLogSum, kReduceForms, {}, "p"},
    {OpKind::kReduceLogSumExp, kReduceForms},
    {OpKind::kReduceMax, kReduceForms},
    {OpKind::kReduceMean, kReduceForms},
    {OpKind::kReduceMin, kReduceForms},
    {OpKind::kReduceProd, kReduceForms},
    {OpKind::kReduceSum, kReduceForms},
    {OpKind::kReduceSumSquare, kReduceForms},
    {OpKind::kRelu, kUnaryForms},
    {OpKind::kReshape, kReshapeForms},
    {OpKind::kResize, kResizeForms},
    {OpKind::kReverseSequence, kReverseSequenceForms},
    {OpKind::kRoiAlign, kRoiAlignForms},
    {OpKind::kRotaryEmbedding, kRotaryForms},
    {OpKind::kRound, kUnaryForms},
    {OpKind::kSTFT, kStftForms},
    {OpKind::kScan, {}, {}, "", "", "", kBodies},
    {OpKind::kScatterElements, kScatterElementsForms},
    {OpKind::kScatterND, kScatterNdForms},
    {OpKind::kSelu, kUnaryForms},
    {OpKind::kShape, {}, {}, "", "", "", kFolded},
    {OpKind::kShrink, kUnaryForms},
    {OpKind::kSigmoid, kUnaryForms},
    {OpKind::kSign, kUnaryForms},
    {OpKind::kSilu, kUnaryForms, kSiluForms},
    {OpKind::kSin, kUnaryForms},
    {OpKind::kSinh, kUnaryForms},
    {OpKind::kSize, {}, {}, "", "", "", kFolded},
    {OpKind::kSlice, kSliceForms},
    {OpKind::kSoftmax, kSoftmaxForms},
    {OpKind::kSoftplus, kUnaryForms},
    {OpKind::kSoftsign, kUnaryForms},
    {OpKind::kSpaceToDepth, kSpaceForms},
    {OpKind::kSplit, kSplitForms},
    {OpKind::kSqrt, kUnaryForms, {}, "p"},
    {OpKind::kSqueeze, kSqueezeForms},
    {OpKind::kSub, kBinaryForms},
    {OpKind::kTan, kUnaryForms},
    {OpKind::kTanh, kUnaryForms},
    {OpKind::kTensorScatter, kTensorScatterForms},
    {OpKind::kThresholdedRelu, kUnaryForms},
    {OpKind::kTile, kTileForms},
    {OpKind::kTopK, kTopKForms},
    {OpKind::kTranspose, kTransposeForms},
    {OpKind::kTreeEnsemble, kTreesForms},
    {OpKind::kTrilu, kTriluForms},
    {OpKind::kUnique, {}, {}, "", "", "", kSized},
    {OpKind::kUnsqueeze, kUnsqueezeForms},
    {OpKind::kWhere, kWhereForms},
    {OpKind::kXor, kBinaryForms},
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
