// Forms of products, convolutions, normalisations and reductions. Internal to forms.cc.
#pragma once

#include "forms.h"

namespace parallax::conformance {

inline constexpr Form kMatMulForms[] = {
    {"odd sizes", "input x $T [3, 5]\ninput x2 $T [5, 7]\ny = MatMul(x, x2)"},
    {"one element", "input x $T [1, 1]\ninput x2 $T [1, 1]\ny = MatMul(x, x2)"},
    {"powers of two", "input x $T [64, 32]\nconst w $T [32, 128] = fill 1\ny = MatMul(x, w)"},
    {"just above", "input x $T [65, 33]\nconst w $T [33, 129] = fill 1\ny = MatMul(x, w)"},
    {"one row", "input x $T [1, 67]\nconst w $T [67, 31] = fill 1\ny = MatMul(x, w)"},
    {"one column", "input x $T [31, 67]\nconst w $T [67, 1] = fill 1\ny = MatMul(x, w)"},
    {"batches", "input x $T [2, 3, 4, 5]\ninput x2 $T [2, 3, 5, 6]\ny = MatMul(x, x2)"},
    {"broadcast batches", "input x $T [2, 1, 4, 5]\ninput x2 $T [3, 5, 6]\ny = MatMul(x, x2)"},
    {"one matrix for all", "input x $T [3, 4, 5]\nconst w $T [5, 6] = fill 1\ny = MatMul(x, w)"},
    {"vector, left", "input x $T [5]\ninput x2 $T [5, 7]\ny = MatMul(x, x2)"},
    {"vector, right", "input x $T [3, 5]\ninput x2 $T [5]\ny = MatMul(x, x2)"},
    {"two vectors", "input x $T [5]\ninput x2 $T [5]\ny = MatMul(x, x2)"},
    {"constant, left", "const w $T [7, 3] = fill 1\ninput x $T [3, 5]\ny = MatMul(w, x)"},
    {"free rows", "symbols n\ninput x $T [n, 17]\nconst w $T [17, 9] = fill 1\ny = MatMul(x, w)"},
    {"free, inside", "symbols n m\ninput x $T [2, 4, n]\ninput x2 $T [2, n, m]\ny = MatMul(x, x2)"},
};

inline constexpr Form kGemmForms[] = {
    {"odd sizes", "input x $T [3, 5]\ninput x2 $T [5, 7]\ny = Gemm(x, x2)"},
    {"bias",
     "input x $T [3, 5]\nconst w $T [5, 7] = fill 1\nconst w2 $T [7] = fill 1\n"
     "y = Gemm(x, w, w2)"},
    {"both transposed",
     "input x $T [5, 3]\nconst w $T [7, 5] = fill 1\nconst w2 $T [3, 1] = fill 1\n"
     "y = Gemm(x, w, w2) {transA = 1, transB = 1}"},
    {"scaled",
     "input x $T [33, 17]\nconst w $T [65, 17] = fill 1\nconst w2 $T [] = fill 1\n"
     "y = Gemm(x, w, w2) {transB = 1, alpha = 0.5, beta = 2.0}"},
    {"free",
     "symbols n\ninput x $T [n, 17]\nconst w $T [9, 17] = fill 1\nconst w2 $T [9] = fill 1\n"
     "y = Gemm(x, w, w2) {transB = 1}"},
};

inline constexpr Form kConvForms[] = {
    {"1x1", "input x $T [1, 8, 7, 9]\nconst w $T [16, 8, 1, 1] = fill 1\ny = Conv(x, w)"},
    {"3x3",
     "input x $T [2, 3, 9, 11]\nconst w $T [5, 3, 3, 3] = fill 1\nconst w2 $T [5] = fill 1\n"
     "y = Conv(x, w, w2) {pads = [1, 1, 1, 1]}"},
    {"3x3, many channels",
     "input x $T [1, 32, 14, 13]\nconst w $T [32, 32, 3, 3] = fill 1\n"
     "y = Conv(x, w) {pads = [1, 1, 1, 1]}"},
    {"stride 2",
     "input x $T [1, 3, 17, 16]\nconst w $T [8, 3, 3, 3] = fill 1\n"
     "y = Conv(x, w) {pads = [1, 1, 1, 1], strides = [2, 2]}"},
    {"7x7, stride 2",
     "input x $T [1, 3, 23, 21]\nconst w $T [4, 3, 7, 7] = fill 1\n"
     "y = Conv(x, w) {pads = [3, 3, 3, 3], strides = [2, 2]}"},
    {"uneven window and pads",
     "input x $T [1, 4, 6, 7]\nconst w $T [3, 4, 2, 3] = fill 1\n"
     "y = Conv(x, w) {pads = [0, 1, 1, 2], strides = [1, 2], kernel_shape = [2, 3]}"},
    {"dilated",
     "input x $T [1, 4, 9, 9]\nconst w $T [3, 4, 3, 3] = fill 1\n"
     "y = Conv(x, w) {dilations = [2, 2], pads = [2, 2, 2, 2]}"},
    {"wide, dilated",
     "input x $T [1, 2, 35, 33]\nconst w $T [2, 2, 3, 3] = fill 1\n"
     "y = Conv(x, w) {dilations = [3, 3]}"},
    {"depthwise",
     "input x $T [1, 8, 9, 10]\nconst w $T [8, 1, 3, 3] = fill 1\n"
     "const w2 $T [8] = fill 1\ny = Conv(x, w, w2) {group = 8, pads = [1, 1, 1, 1]}"},
    {"groups",
     "input x $T [2, 6, 8, 7]\nconst w $T [4, 3, 3, 3] = fill 1\n"
     "y = Conv(x, w) {group = 2}"},
    {"SAME_UPPER",
     "input x $T [1, 3, 8, 7]\nconst w $T [4, 3, 2, 3] = fill 1\n"
     "y = Conv(x, w) {auto_pad = \"SAME_UPPER\", strides = [2, 2]}"},
    {"SAME_LOWER",
     "input x $T [1, 3, 8, 7]\nconst w $T [4, 3, 2, 3] = fill 1\n"
     "y = Conv(x, w) {auto_pad = \"SAME_LOWER\"}"},
    {"one axis",
     "input x $T [2, 4, 17]\nconst w $T [6, 4, 5] = fill 1\n"
     "y = Conv(x, w) {pads = [2, 2]}"},
    {"three axes",
     "input x $T [1, 2, 5, 6, 7]\nconst w $T [3, 2, 3, 3, 3] = fill 1\ny = Conv(x, w)"},
    {"weights of the run", "input x $T [1, 3, 6, 6]\ninput x2 $T [4, 3, 3, 3]\ny = Conv(x, x2)"},
    {"free batch",
     "symbols n\ninput x $T [n, 3, 6, 5]\nconst w $T [4, 3, 3, 3] = fill 1\n"
     "y = Conv(x, w) {pads = [1, 1, 1, 1]}"},
    {"free image",
     "symbols n m\ninput x $T [1, 3, n, m]\nconst w $T [4, 3, 3, 3] = fill 1\n"
     "y = Conv(x, w) {pads = [1, 1, 1, 1], strides = [2, 1]}"},
};

inline constexpr Form kPoolForms[] = {
    {"2x2", "input x $T [1, 3, 8, 8]\ny = $O(x) {kernel_shape = [2, 2], strides = [2, 2]}"},
    {"3x3, padded",
     "input x $T [2, 3, 9, 7]\n"
     "y = $O(x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}"},
    {"rounded up",
     "input x $T [1, 2, 8, 7]\n"
     "y = $O(x) {kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1}"},
    {"SAME_UPPER",
     "input x $T [1, 2, 7, 6]\n"
     "y = $O(x) {kernel_shape = [2, 3], auto_pad = \"SAME_UPPER\"}"},
    {"5x5, side by side",
     "input x $T [1, 8, 10, 10]\n"
     "y = $O(x) {kernel_shape = [5, 5], pads = [2, 2, 2, 2]}"},
    {"dilated", "input x $T [1, 2, 9, 9]\ny = $O(x) {kernel_shape = [2, 2], dilations = [2, 2]}"},
    {"one axis", "input x $T [2, 3, 11]\ny = $O(x) {kernel_shape = [3]}"},
    {"three axes", "input x $T [1, 2, 4, 5, 6]\ny = $O(x) {kernel_shape = [2, 2, 2]}"},
    {"free",
     "symbols n m\ninput x $T [n, 2, 6, m]\n"
     "y = $O(x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}"},
};
inline constexpr Form kAveragePoolForms[] = {
    {"pads count",
     "input x $T [1, 3, 7, 7]\n"
     "y = $O(x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1}"},
};
inline constexpr Form kGlobalPoolForms[] = {
    {"odd sizes", "input x $T [2, 3, 5, 7]\ny = $O(x)"},
    {"one element", "input x $T [1, 3, 1, 1]\ny = $O(x)"},
    {"large", "input x $T [1, 4, 37, 41]\ny = $O(x)"},
    {"one axis", "input x $T [2, 3, 9]\ny = $O(x)"},
    {"free", "symbols n m\ninput x $T [n, 3, m, 4]\ny = $O(x)"},
};

inline constexpr Form kSoftmaxForms[] = {
    {"last axis", "input $L $T [3, 5, 7]\ny = $O($L)"},
    {"first axis", "input $L $T [3, 5, 7]\ny = $O($L) {axis = 0}"},
    {"middle axis", "input $L $T [3, 5, 7]\ny = $O($L) {axis = -2}"},
    {"one element", "input $L $T [1]\ny = $O($L)"},
    {"a power of two", "input $L $T [16, 256]\ny = $O($L)"},
    {"long rows", "input $L $T [2, 1537]\ny = $O($L)"},
    {"free rows", "symbols n\ninput $L $T [n, 5]\ny = $O($L)"},
    {"free length", "symbols n\ninput $L $T [4, n]\ny = $O($L)"},
};
inline constexpr Form kLpForms[] = {
    {"p 1", "input d $T [3, 5]\ny = LpNormalization(d) {p = 1}"},
    {"p 2", "input d $T [3, 5]\ny = LpNormalization(d) {axis = 0}"},
    {"free", "symbols n\ninput d $T [n, 5]\ny = LpNormalization(d)"},
};
inline constexpr Form kLayerForms[] = {
    {"", "input x $T [3, 7]\nconst w $T [7] = fill 1\ny = $O(x, w)"},
    {"long rows", "input x $T [2, 769]\nconst w $T [769] = fill 1\ny = $O(x, w) {epsilon = 1e-3}"},
    {"two axes", "input x $T [3, 5, 4]\nconst w $T [5, 4] = fill 1\ny = $O(x, w) {axis = 1}"},
    {"free rows", "symbols n\ninput x $T [2, n, 16]\nconst w $T [16] = fill 1\ny = $O(x, w)"},
};
inline constexpr Form kLayerBiasForms[] = {
    {"bias",
     "input x $T [3, 7]\nconst w $T [7] = fill 1\nconst w2 $T [7] = fill 1\n"
     "y = $O(x, w, w2)"},
};
inline constexpr Form kBatchNormForms[] = {
    {"image",
     "input x $T [2, 3, 5, 4]\nconst w $T [3] = fill 1\nconst w2 $T [3] = fill 1\n"
     "const w3 $T [3] = fill 1\nconst p $T [3] = fill 1\n"
     "y = BatchNormalization(x, w, w2, w3, p)"},
    {"rows",
     "input x $T [4, 3]\nconst w $T [3] = fill 1\nconst w2 $T [3] = fill 1\n"
     "const w3 $T [3] = fill 1\nconst p $T [3] = fill 1\n"
     "y = BatchNormalization(x, w, w2, w3, p) {epsilon = 1e-3}"},
    {"free",
     "symbols n m\ninput x $T [n, 3, m]\nconst w $T [3] = fill 1\nconst w2 $T [3] = fill 1\n"
     "const w3 $T [3] = fill 1\nconst p $T [3] = fill 1\n"
     "y = BatchNormalization(x, w, w2, w3, p)"},
};

inline constexpr Form kReduceForms[] = {
    {"all", "input $L $T $S\ny = $O($L)"},
    {"last axis", "input $L $T [3, 5, 7]\nconst c i64 [1] = [-1]\ny = $O($L, c)"},
    {"first axis", "input $L $T [3, 5, 7]\nconst c i64 [1] = [0]\ny = $O($L, c) {keepdims = 0}"},
    {"middle axis", "input $L $T [3, 5, 7]\nconst c i64 [1] = [1]\ny = $O($L, c)"},
    {"two axes",
     "input $L $T [2, 3, 5, 4]\nconst c i64 [2] = [2, 3]\ny = $O($L, c) {keepdims = 0}"},
    {"outer axes", "input $L $T [3, 4, 5]\nconst c i64 [2] = [0, 2]\ny = $O($L, c)"},
    {"long rows", "input $L $T [3, 2049]\nconst c i64 [1] = [1]\ny = $O($L, c)"},
    {"no axes mean none",
     "input $L $T [3, 5]\nconst c i64 [0] = []\n"
     "y = $O($L, c) {noop_with_empty_axes = 1}"},
    {"free rows", "symbols n\ninput $L $T [n, 5]\nconst c i64 [1] = [1]\ny = $O($L, c)"},
    {"free length", "symbols n\ninput $L $T [4, n]\nconst c i64 [1] = [1]\ny = $O($L, c)"},
};
inline constexpr Form kArgMaxForms[] = {
    {"first axis", "input x $T [5, 7]\ny = $O(x)"},
    {"last axis", "input x $T [3, 5, 7]\ny = $O(x) {axis = -1, keepdims = 0}"},
    {"ties, last", "input q $T [4, 33]\ny = $O(q) {axis = 1, select_last_index = 1}"},
    {"ties, first", "input q $T [4, 33]\ny = $O(q) {axis = 1}"},
    {"free", "symbols n\ninput x $T [n, 9]\ny = $O(x) {axis = 1}"},
};
inline constexpr Form kTopKForms[] = {
    {"largest", "input x $T [3, 17]\nconst c i64 [1] = [4]\nv, i = TopK(x, c)\noutput v, i"},
    {"smallest",
     "input q $T [9, 4]\nconst c i64 [1] = [3]\n"
     "v, i = TopK(q, c) {axis = 0, largest = 0}\noutput v, i"},
    {"free",
     "symbols n\ninput x $T [n, 11]\nconst c i64 [1] = [5]\nv, i = TopK(x, c)\n"
     "output v, i"},
};

inline constexpr Form kAttentionForms[] = {
    {"odd sizes",
     "input xq $T [2, 3, 5, 8]\ninput xk $T [2, 3, 8, 7]\ninput xv $T [2, 3, 7, 6]\n"
     "y = FusedAttention(xq, xk, xv) {scale = 0.35}"},
    {"one matrix",
     "input xq $T [33, 16]\ninput xk $T [16, 65]\ninput xv $T [65, 16]\n"
     "y = FusedAttention(xq, xk, xv)"},
    {"mask",
     "input xq $T [2, 3, 5, 8]\ninput xk $T [2, 3, 8, 7]\ninput xv $T [2, 3, 7, 8]\n"
     "input xm $T [2, 1, 1, 7]\ny = FusedAttention(xq, xk, xv, xm) {scale = 0.35}"},
    {"choice",
     "input xq $T [2, 3, 5, 8]\ninput xk $T [2, 3, 8, 7]\ninput xv $T [2, 3, 7, 8]\n"
     "input b bool [1, 1, 5, 7]\n"
     "y = FusedAttention(xq, xk, xv, _, b) {fill = -5.0, fill_where = 0}"},
    {"shared heads",
     "input xq $T [1, 6, 5, 8]\ninput xk $T [1, 2, 8, 7]\n"
     "input xv $T [1, 2, 7, 8]\ny = FusedAttention(xq, xk, xv) {group = 3}"},
    {"turned",
     "input xq $T [1, 5, 3, 8]\ninput xk $T [1, 7, 3, 8]\ninput xv $T [1, 7, 3, 6]\n"
     "y = FusedAttention(xq, xk, xv) {q_perm = [0, 2, 1, 3], k_perm = [0, 2, 3, 1], "
     "v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}"},
    {"free",
     "symbols n m\ninput xq $T [2, n, 8]\ninput xk $T [2, 8, m]\ninput xv $T [2, m, 8]\n"
     "y = FusedAttention(xq, xk, xv) {scale = 0.35}"},
};
inline constexpr Form kCosineForms[] = {
    {"",
     "input xq $T [4, 5, 3, 8]\ninput xk $T [4, 7, 3, 8]\ninput xv $T [4, 7, 3, 6]\n"
     "const w $T [3] = fill 1\ny = CosineAttention(xq, xk, xv, w)"},
    {"bias and mask",
     "input xq $T [4, 5, 3, 8]\ninput xk $T [4, 5, 3, 8]\ninput xv $T [4, 5, 3, 8]\n"
     "const w $T [3] = fill 1\nconst w2 $T [3, 5, 5] = fill 1\nconst w3 $T [2, 5, 5] = fill 1\n"
     "y = CosineAttention(xq, xk, xv, w, w2, w3)"},
    {"free",
     "symbols n\ninput xq $T [n, 5, 3, 8]\ninput xk $T [n, 5, 3, 8]\n"
     "input xv $T [n, 5, 3, 8]\nconst w $T [3] = fill 1\n"
     "y = CosineAttention(xq, xk, xv, w)"},
};

inline constexpr OperatorRow kComputeRows[] = {
    {OpKind::kArgMax, kArgMaxForms},
    {OpKind::kArgMin, kArgMaxForms},
    {OpKind::kAveragePool, kPoolForms, kAveragePoolForms},
    {OpKind::kBatchNormalization, kBatchNormForms},
    {OpKind::kConv, kConvForms},
    {OpKind::kCosineAttention, kCosineForms},
    {OpKind::kFusedAttention, kAttentionForms},
    {OpKind::kGemm, kGemmForms},
    {OpKind::kGlobalAveragePool, kGlobalPoolForms},
    {OpKind::kGlobalLpPool, kGlobalPoolForms},
    {OpKind::kGlobalMaxPool, kGlobalPoolForms},
    {OpKind::kHardmax, kSoftmaxForms, {}, "q"},
    {OpKind::kLayerNormalization, kLayerForms, kLayerBiasForms},
    {OpKind::kLogSoftmax, kSoftmaxForms},
    {OpKind::kLpNormalization, kLpForms},
    {OpKind::kLpPool, kPoolForms},
    {OpKind::kMatMul, kMatMulForms},
    {OpKind::kMaxPool, kPoolForms},
    {OpKind::kRMSNormalization, kLayerForms},
    {OpKind::kSoftmax, kSoftmaxForms},
    {OpKind::kTopK, kTopKForms},
};

}  // namespace parallax::conformance
