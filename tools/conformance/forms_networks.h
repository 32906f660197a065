// Forms of attention, recurrent networks, transforms, trees and quantised products. Internal to
// forms.cc.
#pragma once

#include "forms.h"

namespace parallax::conformance {

inline constexpr Form kHeadsForms[] = {
    {"heads",
     "input xq $T [2, 3, 5, 8]\ninput xk $T [2, 3, 7, 8]\ninput xv $T [2, 3, 7, 6]\n"
     "y = Attention(xq, xk, xv)"},
    {"shared heads, causal",
     "input xq $T [1, 6, 5, 8]\ninput xk $T [1, 2, 5, 8]\ninput xv $T [1, 2, 5, 8]\n"
     "y = Attention(xq, xk, xv) {is_causal = 1, softcap = 2.0}"},
    {"side by side, mask",
     "input xq $T [2, 5, 24]\ninput xk $T [2, 7, 24]\ninput xv $T [2, 7, 18]\n"
     "input xm $T [5, 7]\n"
     "y = Attention(xq, xk, xv, xm) {q_num_heads = 3, kv_num_heads = 3, scale = 0.35}"},
    {"a past",
     "input xq $T [1, 2, 3, 8]\ninput xk $T [1, 2, 3, 8]\ninput xv $T [1, 2, 3, 8]\n"
     "input x4 $T [1, 2, 4, 8]\ninput x5 $T [1, 2, 4, 8]\n"
     "a, b, d = Attention(xq, xk, xv, _, x4, x5) {is_causal = 1}\noutput a, b, d"},
    {"free",
     "symbols n m\ninput xq $T [2, 3, n, 8]\ninput xk $T [2, 3, m, 8]\n"
     "input xv $T [2, 3, m, 8]\ny = Attention(xq, xk, xv)"},
};
inline constexpr Form kLinearAttentionForms[] = {
    {"linear",
     "input xq $T [2, 5, 12]\ninput xk $T [2, 5, 6]\ninput xv $T [2, 5, 10]\n"
     "a, b = LinearAttention(xq, xk, xv) "
     "{q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"}\noutput a, b"},
};
inline constexpr Form kRotaryForms[] = {
    {"",
     "input x $T [2, 3, 5, 8]\ninput x2 $T [2, 5, 4]\ninput x3 $T [2, 5, 4]\n"
     "y = RotaryEmbedding(x, x2, x3)"},
    {"by position, interleaved",
     "input x $T [2, 5, 24]\nconst w $T [7, 4] = fill 1\nconst w2 $T [7, 4] = fill 1\n"
     "input k i64 [2, 5]\ny = RotaryEmbedding(x, w, w2, k) {num_heads = 3, interleaved = 1}"},
    {"a part",
     "symbols n\ninput x $T [2, 3, n, 8]\ninput x2 $T [2, n, 2]\ninput x3 $T [2, n, 2]\n"
     "y = RotaryEmbedding(x, x2, x3) {rotary_embedding_dim = 4}"},
};
inline constexpr Form kCausalConvForms[] = {
    {"",
     "input x $T [2, 3, 7]\nconst w $T [3, 1, 4] = fill 1\nconst w2 $T [3] = fill 1\n"
     "input x2 $T [2, 3, 3]\na, b = CausalConvWithState(x, w, w2, x2) {activation = \"silu\"}\n"
     "output a, b"},
    {"free",
     "symbols n\ninput x $T [2, 3, n]\nconst w $T [3, 1, 2] = fill 1\n"
     "y = CausalConvWithState(x, w)"},
};

inline constexpr Form kLstmForms[] = {
    {"",
     "input x $T [5, 2, 4]\nconst w $T [1, 12, 4] = fill 1\nconst w2 $T [1, 12, 3] = fill 1\n"
     "a, b, d = LSTM(x, w, w2)\noutput a, b, d"},
    {"both directions, biased, a state",
     "input x $T [5, 2, 4]\nconst w $T [2, 12, 4] = fill 1\nconst w2 $T [2, 12, 3] = fill 1\n"
     "const w3 $T [2, 24] = fill 1\ninput x2 $T [2, 2, 3]\ninput x3 $T [2, 2, 3]\n"
     "a, b, d = LSTM(x, w, w2, w3, _, x2, x3) {direction = \"bidirectional\"}\noutput a, b, d"},
    {"backwards, lengths",
     "input x $T [5, 2, 4]\nconst w $T [1, 12, 4] = fill 1\nconst w2 $T [1, 12, 3] = fill 1\n"
     "const c i32 [2] = [5, 3]\n"
     "a, b, d = LSTM(x, w, w2, _, c) {direction = \"reverse\"}\noutput a, b, d"},
    {"free",
     "symbols n m\ninput x $T [n, m, 4]\nconst w $T [1, 12, 4] = fill 1\n"
     "const w2 $T [1, 12, 3] = fill 1\ny = LSTM(x, w, w2) {layout = 1}"},
};
inline constexpr Form kGruForms[] = {
    {"",
     "input x $T [5, 2, 4]\nconst w $T [1, 9, 4] = fill 1\nconst w2 $T [1, 9, 3] = fill 1\n"
     "a, b = GRU(x, w, w2)\noutput a, b"},
    {"both directions, biased, reset last",
     "input x $T [5, 2, 4]\nconst w $T [2, 9, 4] = fill 1\nconst w2 $T [2, 9, 3] = fill 1\n"
     "const w3 $T [2, 18] = fill 1\n"
     "a, b = GRU(x, w, w2, w3) {direction = \"bidirectional\", linear_before_reset = 1}\n"
     "output a, b"},
    {"free",
     "symbols n m\ninput x $T [n, m, 4]\nconst w $T [1, 9, 4] = fill 1\n"
     "const w2 $T [1, 9, 3] = fill 1\ny = GRU(x, w, w2)"},
};
inline constexpr Form kRnnForms[] = {
    {"",
     "input x $T [5, 2, 4]\nconst w $T [1, 3, 4] = fill 1\nconst w2 $T [1, 3, 3] = fill 1\n"
     "a, b = RNN(x, w, w2)\noutput a, b"},
    {"free, both directions, biased",
     "symbols n m\ninput x $T [n, m, 4]\nconst w $T [2, 3, 4] = fill 1\n"
     "const w2 $T [2, 3, 3] = fill 1\nconst w3 $T [2, 6] = fill 1\n"
     "y = RNN(x, w, w2, w3) {direction = \"bidirectional\"}"},
};

inline constexpr Form kDftForms[] = {
    {"real", "input x $T [2, 8, 1]\nconst c i64 [] = [1]\ny = DFT(x, _, c)"},
    {"one half", "input x $T [2, 9, 1]\nconst c i64 [] = [1]\ny = DFT(x, _, c) {onesided = 1}"},
    {"inverse", "input x $T [2, 7, 2]\nconst c i64 [] = [1]\ny = DFT(x, _, c) {inverse = 1}"},
    {"free", "symbols n\ninput x $T [n, 6, 2]\nconst c i64 [] = [1]\ny = DFT(x, _, c)"},
};
inline constexpr Form kStftForms[] = {
    {"", "input x $T [2, 16, 1]\nconst c i64 [] = [4]\nconst w $T [8] = fill 1\ny = STFT(x, c, w)"},
    {"both halves, free",
     "symbols n\ninput x $T [n, 20, 1]\nconst c i64 [] = [5]\nconst c2 i64 [] = [8]\n"
     "y = STFT(x, c, _, c2) {onesided = 0}"},
};
inline constexpr Form kDetForms[] = {
    {"", "input x $T [3, 3]\ny = Det(x)"},
    {"free", "symbols n\ninput x $T [n, 4, 4]\ny = Det(x)"},
};
inline constexpr Form kEinsumForms[] = {
    {"a product",
     "input x $T [2, 3, 4]\ninput x2 $T [2, 5, 4]\ny = Einsum(x, x2) {equation = "
     "\"bij,bkj->bik\"}"},
    {"a sum", "input x $T [3, 5]\ny = Einsum(x) {equation = \"ij->\"}"},
    {"a diagonal", "input x $T [5, 5]\ny = Einsum(x) {equation = \"ii->i\"}"},
    {"free",
     "symbols n m\ninput x $T [n, 4]\ninput x2 $T [4, m]\n"
     "y = Einsum(x, x2) {equation = \"ij,jk->ki\"}"},
};
/// x[0] <= 1 or not, and, where it is, x[1] > 0.5 or not.
inline constexpr Form kTreesForms[] = {
    {"",
     "symbols n\ninput x $T [n, 2]\n"
     "y = TreeEnsemble(x) {n_targets = 2, tree_roots = [0], nodes_featureids = [0, 1], "
     "nodes_modes = tensor u8 [2] [0, 3], nodes_splits = tensor $T [2] [1.0, 0.5], "
     "nodes_truenodeids = [1, 0], nodes_trueleafs = [0, 1], nodes_falsenodeids = [2, 1], "
     "nodes_falseleafs = [1, 1], leaf_targetids = [0, 1, 0], "
     "leaf_weights = tensor $T [3] [1.0, 2.0, 4.0]}"},
};

inline constexpr Form kQuantizeForms[] = {
    {"to u8",
     "input x $T $S\nconst p f32 [] = fill 1\nconst k u8 [] = fill 1\n"
     "y = QuantizeLinear(x, p, k)"},
    {"to i8, for each column",
     "input x $T [3, 5]\nconst p f32 [5] = fill 1\nconst k i8 [5] = fill 1\n"
     "y = QuantizeLinear(x, p, k)"},
};
inline constexpr Form kDequantizeForms[] = {
    {"",
     "input x $T $S\nconst p f32 [] = fill 1\nconst k $T [] = fill 1\n"
     "y = DequantizeLinear(x, p, k)"},
    {"for each row",
     "input x $T [3, 5]\nconst p f32 [3] = fill 1\nconst k $T [3] = fill 1\n"
     "y = DequantizeLinear(x, p, k) {axis = 0}"},
    {"for each block",
     "input x $T [4, 6]\nconst p f32 [4, 3] = fill 1\n"
     "y = DequantizeLinear(x, p) {axis = 1, block_size = 2}"},
};
inline constexpr Form kDynamicQuantizeForms[] = {
    {"", "input x $T $S\na, b, d = DynamicQuantizeLinear(x)\noutput a, b, d"},
};
inline constexpr Form kMatMulIntegerForms[] = {
    {"", "input x $T [3, 5]\nconst w i8 [5, 7] = fill 1\ny = MatMulInteger(x, w)"},
    {"zero points",
     "input x $T [33, 17]\nconst w i8 [17, 9] = fill 1\nconst k $T [] = fill 1\n"
     "const k2 i8 [9] = fill 1\ny = MatMulInteger(x, w, k, k2)"},
    {"free", "symbols n\ninput x $T [2, n, 16]\ninput x2 i8 [2, 16, 5]\ny = MatMulInteger(x, x2)"},
};
inline constexpr Form kConvIntegerForms[] = {
    {"",
     "input x $T [1, 3, 6, 5]\nconst w i8 [4, 3, 3, 3] = fill 1\nconst k $T [] = fill 1\n"
     "y = ConvInteger(x, w, k) {pads = [1, 1, 1, 1]}"},
    {"groups, free",
     "symbols n\ninput x $T [n, 4, 6, 5]\nconst w i8 [4, 2, 3, 2] = fill 1\n"
     "y = ConvInteger(x, w) {group = 2, strides = [2, 1]}"},
};
inline constexpr Form kMatMulBitsForms[] = {
    {"4 bits",
     "input x $T [3, 40]\nconst w u8 [7, 3, 8] = fill 1\nconst w2 $T [7, 3] = fill 1\n"
     "y = MatMulNBits(x, w, w2) {K = 40, N = 7, bits = 4, block_size = 16}"},
    {"8 bits, free",
     "symbols n\ninput x $T [n, 32]\nconst w u8 [5, 2, 16] = fill 1\nconst w2 $T [5, 2] = fill 1\n"
     "const k u8 [5, 2] = fill 1\n"
     "y = MatMulNBits(x, w, w2, k) {K = 32, N = 5, bits = 8, block_size = 16}"},
};

inline constexpr OperatorRow kNetworksRows[] = {
    {OpKind::kAttention, kHeadsForms},
    {OpKind::kCausalConvWithState, kCausalConvForms},
    {OpKind::kConvInteger, kConvIntegerForms},
    {OpKind::kDFT, kDftForms},
    {OpKind::kDequantizeLinear, kDequantizeForms},
    {OpKind::kDet, kDetForms},
    {OpKind::kDynamicQuantizeLinear, kDynamicQuantizeForms},
    {OpKind::kEinsum, kEinsumForms},
    {OpKind::kGRU, kGruForms},
    {OpKind::kLSTM, kLstmForms},
    {OpKind::kLinearAttention, kLinearAttentionForms},
    {OpKind::kMatMulInteger, kMatMulIntegerForms},
    {OpKind::kMatMulNBits, kMatMulBitsForms},
    {OpKind::kQuantizeLinear, kQuantizeForms},
    {OpKind::kRNN, kRnnForms},
    {OpKind::kRotaryEmbedding, kRotaryForms},
    {OpKind::kSTFT, kStftForms},
    {OpKind::kTreeEnsemble, kTreesForms},
};

}  // namespace parallax::conformance
