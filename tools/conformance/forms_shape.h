// Forms of operators that move elements or change shapes. Internal to forms.cc.
#pragma once

#include "forms.h"

namespace parallax::conformance {

inline constexpr Form kReshapeForms[] = {
    {"inside",
     "input x $T [4, 6]\nconst c i64 [2] = [3, 8]\na = $W(x)\nv = Reshape(a, c)\n"
     "y = $W(v)"},
    {"of an input",
     "input x $T [4, 6]\nconst c i64 [3] = [2, -1, 3]\nv = Reshape(x, c)\n"
     "y = $W(v)"},
    {"at the end", "input x $T [4, 6]\nconst c i64 [1] = [24]\na = $W(x)\ny = Reshape(a, c)"},
    {"free",
     "symbols n\ninput x $T [n, 6]\nsymbolic s i64 [3] = [n, 2, 3]\na = $W(x)\n"
     "v = Reshape(a, s)\ny = $W(v)"},
};
inline constexpr Form kFlattenForms[] = {
    {"inside", "input x $T [2, 3, 5]\na = $W(x)\nv = Flatten(a) {axis = 1}\ny = $W(v)"},
    {"free", "symbols n\ninput x $T [n, 3, 5]\nv = Flatten(x) {axis = 2}\ny = $W(v)"},
};
inline constexpr Form kSqueezeForms[] = {
    {"inside",
     "input x $T [1, 3, 1, 5]\nconst c i64 [2] = [0, 2]\na = $W(x)\n"
     "v = Squeeze(a, c)\ny = $W(v)"},
    {"free",
     "symbols n\ninput x $T [n, 1, 5]\nconst c i64 [1] = [1]\nv = Squeeze(x, c)\n"
     "y = $W(v)"},
};
inline constexpr Form kUnsqueezeForms[] = {
    {"inside",
     "input x $T [3, 5]\nconst c i64 [2] = [0, -1]\na = $W(x)\nv = Unsqueeze(a, c)\n"
     "y = $W(v)"},
    {"free",
     "symbols n\ninput x $T [n, 5]\nconst c i64 [1] = [1]\nv = Unsqueeze(x, c)\n"
     "y = $W(v)"},
};
inline constexpr Form kIdentityForms[] = {
    {"inside", "input x $T $S\na = $W(x)\nv = Identity(a)\ny = $W(v)"},
};

inline constexpr Form kTransposeForms[] = {
    {"matrix", "input x $T [33, 65]\ny = Transpose(x)"},
    {"powers of two", "input x $T [32, 64]\ny = Transpose(x) {perm = [1, 0]}"},
    {"heads", "input x $T [2, 5, 3, 7]\ny = Transpose(x) {perm = [0, 2, 1, 3]}"},
    {"channels last", "input x $T [2, 3, 5, 4]\ny = Transpose(x) {perm = [0, 2, 3, 1]}"},
    {"cycle", "input x $T [3, 5, 7]\ny = Transpose(x) {perm = [2, 0, 1]}"},
    {"rank 5", "input x $T [2, 3, 2, 4, 3]\ny = Transpose(x) {perm = [0, 3, 1, 4, 2]}"},
    {"rank 6", "input x $T [1, 2, 3, 2, 3, 4]\ny = Transpose(x) {perm = [0, 5, 2, 4, 1, 3]}"},
    {"free", "symbols n m\ninput x $T [n, 3, m]\ny = Transpose(x) {perm = [2, 1, 0]}"},
};
inline constexpr Form kConcatForms[] = {
    {"first axis", "input x $T [3, 5]\ninput x2 $T [2, 5]\ny = Concat(x, x2) {axis = 0}"},
    {"last axis", "input x $T [3, 5]\ninput x2 $T [3, 2]\ny = Concat(x, x2) {axis = -1}"},
    {"channels",
     "input x $T [2, 3, 4, 5]\ninput x2 $T [2, 1, 4, 5]\nconst w $T [2, 2, 4, 5] = fill 1\n"
     "y = Concat(x, x2, w) {axis = 1}"},
    {"the same twice", "input x $T [3, 5]\ny = Concat(x, x) {axis = 1}"},
    {"nothing among them",
     "input x $T [3, 5]\nconst c $T [0, 5] = []\n"
     "y = Concat(x, c, x) {axis = 0}"},
    {"free", "symbols n m\ninput x $T [n, 5]\ninput x2 $T [m, 5]\ny = Concat(x, x2) {axis = 0}"},
    {"free, another axis",
     "symbols n\ninput x $T [2, n, 3]\ninput x2 $T [2, n, 5]\n"
     "y = Concat(x, x2) {axis = 2}"},
};
inline constexpr Form kSplitForms[] = {
    {"halves", "input x $T [3, 8]\na, b = Split(x) {axis = 1, num_outputs = 2}\noutput a, b"},
    {"parts",
     "input x $T [7, 5]\nconst c i64 [3] = [1, 4, 2]\na, b, d = Split(x, c)\n"
     "output a, b, d"},
    {"a rest",
     "input x $T [2, 7, 3]\na, b, d = Split(x) {axis = 1, num_outputs = 3}\n"
     "output a, b, d"},
    {"one is not wanted",
     "input x $T [3, 8]\na, b = Split(x) {axis = 1, num_outputs = 2}\n"
     "output b"},
    {"free",
     "symbols n\ninput x $T [n, 6]\na, b = Split(x) {axis = 1, num_outputs = 2}\n"
     "output a, b"},
};
inline constexpr Form kSliceForms[] = {
    {"one axis",
     "input x $T [7, 5]\nconst c1 i64 [1] = [1]\nconst c5 i64 [1] = [5]\n"
     "y = Slice(x, c1, c5)"},
    {"last axis",
     "input x $T [3, 9]\nconst c1 i64 [1] = [-4]\nconst c5 i64 [1] = [100]\n"
     "const ca i64 [1] = [1]\ny = Slice(x, c1, c5, ca)"},
    {"steps",
     "input x $T [9, 8]\nconst c1 i64 [2] = [0, 1]\nconst c5 i64 [2] = [9, 8]\n"
     "const ca i64 [2] = [0, 1]\nconst cs i64 [2] = [2, 3]\ny = Slice(x, c1, c5, ca, cs)"},
    {"backwards",
     "input x $T [4, 7]\nconst c1 i64 [1] = [-1]\nconst c5 i64 [1] = [-100]\n"
     "const ca i64 [1] = [1]\nconst cs i64 [1] = [-2]\ny = Slice(x, c1, c5, ca, cs)"},
    {"four axes",
     "input x $T [2, 5, 6, 7]\nconst c1 i64 [3] = [1, 2, 3]\n"
     "const c5 i64 [3] = [4, 6, 6]\nconst ca i64 [3] = [1, 2, 3]\n"
     "y = Slice(x, c1, c5, ca)"},
    {"free",
     "symbols n\ninput x $T [n, 6]\nconst c1 i64 [1] = [2]\nconst c5 i64 [1] = [5]\n"
     "const ca i64 [1] = [1]\ny = Slice(x, c1, c5, ca)"},
    {"to a free end",
     "symbols n\ninput x $T [9, 4]\nconst c1 i64 [1] = [0]\n"
     "symbolic s i64 [1] = [n]\ny = Slice(x, c1, s)"},
};
inline constexpr Form kPadForms[] = {
    {"zeros", "input x $T [3, 5]\nconst c i64 [4] = [1, 2, 0, 3]\ny = Pad(x, c)"},
    {"a number",
     "input x $T [3, 5]\nconst c i64 [4] = [1, 0, 1, 2]\nconst w $T [] = fill 1\n"
     "y = Pad(x, c, w)"},
    {"cut", "input x $T [5, 7]\nconst c i64 [4] = [-1, 1, -2, -1]\ny = Pad(x, c)"},
    {"reflect",
     "input x $T [1, 2, 4, 5]\nconst c i64 [8] = [0, 0, 1, 2, 0, 0, 2, 1]\n"
     "y = Pad(x, c) {mode = \"reflect\"}"},
    {"edge",
     "input x $T [1, 2, 4, 5]\nconst c i64 [8] = [0, 0, 1, 2, 0, 0, 2, 1]\n"
     "y = Pad(x, c) {mode = \"edge\"}"},
    {"some axes",
     "input x $T [3, 5]\nconst c i64 [2] = [1, 2]\nconst ca i64 [1] = [1]\n"
     "y = Pad(x, c, _, ca)"},
    {"free", "symbols n\ninput x $T [n, 5]\nconst c i64 [4] = [1, 0, 2, 1]\ny = Pad(x, c)"},
};
inline constexpr Form kExpandForms[] = {
    {"rows", "input x $T [1, 5]\nconst c i64 [2] = [3, 5]\ny = Expand(x, c)"},
    {"more axes", "input x $T [3, 1]\nconst c i64 [3] = [2, 1, 4]\ny = Expand(x, c)"},
    {"scalar", "input x $T []\nconst c i64 [2] = [2, 3]\ny = Expand(x, c)"},
    {"free", "symbols n\ninput x $T [1, 5]\nsymbolic s i64 [2] = [n, 5]\ny = Expand(x, s)"},
};
inline constexpr Form kTileForms[] = {
    {"", "input x $T [2, 3]\nconst c i64 [2] = [2, 3]\ny = Tile(x, c)"},
    {"one axis", "input x $T [3, 1, 5]\nconst c i64 [3] = [1, 4, 1]\ny = Tile(x, c)"},
    {"free", "symbols n\ninput x $T [n, 3]\nconst c i64 [2] = [1, 2]\ny = Tile(x, c)"},
};
inline constexpr Form kGatherForms[] = {
    {"rows", "input x $T [5, 7]\ninput i i64 [3]\ny = Gather(x, i)"},
    {"rows by i32", "input x $T [5, 7]\ninput i i32 [2, 3]\ny = Gather(x, i)"},
    {"columns", "input x $T [5, 7]\ninput i i64 [2, 3]\ny = Gather(x, i) {axis = 1}"},
    {"one", "input x $T [3, 5, 4]\nconst i i64 [] = fill 1\ny = Gather(x, i) {axis = 1}"},
    {"words", "const w $T [33, 16] = fill 1\ninput k i64 [2, 9]\ny = Gather(w, k)"},
    {"free", "symbols n\nconst w $T [9, 16] = fill 1\ninput k i64 [n]\ny = Gather(w, k)"},
};
inline constexpr Form kGatherNdForms[] = {
    {"elements", "input x $T [3, 5]\ninput k i64 [4, 2]\ny = GatherND(x, k)"},
    {"rows", "input x $T [3, 5]\ninput k i64 [4, 1]\ny = GatherND(x, k)"},
    {"batches", "input x $T [2, 3, 5]\ninput k i64 [2, 4, 1]\ny = GatherND(x, k) {batch_dims = 1}"},
    {"free", "symbols n\ninput x $T [3, 5]\ninput k i64 [n, 1]\ny = GatherND(x, k)"},
};
/// Indices are constants: two that are the same would leave open which update stays.
inline constexpr Form kScatterNdForms[] = {
    {"elements",
     "input x $T [3, 5]\nconst c i64 [2, 2] = [0, 1, 2, 4]\ninput x2 $T [2]\n"
     "y = ScatterND(x, c, x2)"},
    {"rows",
     "input x $T [4, 5]\nconst c i64 [2, 1] = [3, 0]\ninput x2 $T [2, 5]\n"
     "y = ScatterND(x, c, x2)"},
    {"added",
     "input x $T [4, 5]\nconst c i64 [3, 1] = [1, 1, 2]\ninput x2 $T [3, 5]\n"
     "y = ScatterND(x, c, x2) {reduction = \"add\"}"},
    {"free",
     "symbols n\ninput x $T [4, n]\nconst c i64 [2, 1] = [3, 0]\ninput x2 $T [2, n]\n"
     "y = ScatterND(x, c, x2)"},
};
inline constexpr Form kGatherElementsForms[] = {
    {"rows", "input x $T [3, 5]\ninput i i64 [2, 5]\ny = GatherElements(x, i)"},
    {"columns", "input x $T [3, 5]\ninput i i32 [3, 4]\ny = GatherElements(x, i) {axis = 1}"},
    {"free",
     "symbols n\ninput x $T [n, 5]\ninput i i64 [n, 2]\n"
     "y = GatherElements(x, i) {axis = -1}"},
};
inline constexpr Form kScatterElementsForms[] = {
    {"rows",
     "input x $T [3, 4]\nconst c i64 [2, 4] = [0, 1, 2, 0, 1, 2, 0, -2]\ninput x2 $T [2, 4]\n"
     "y = ScatterElements(x, c, x2)"},
    {"columns",
     "input x $T [3, 4]\nconst c i64 [3, 2] = [0, 3, 2, 1, 1, 0]\ninput x2 $T [3, 2]\n"
     "y = ScatterElements(x, c, x2) {axis = 1}"},
    {"added",
     "input x $T [3, 4]\nconst c i64 [2, 4] = [0, 1, 2, 0, 0, 1, 2, 0]\ninput x2 $T [2, 4]\n"
     "y = ScatterElements(x, c, x2) {reduction = \"add\"}"},
};
inline constexpr Form kTensorScatterForms[] = {
    {"",
     "input x $T [2, 3, 9, 4]\ninput x2 $T [2, 3, 2, 4]\nconst c i64 [2] = [0, 5]\n"
     "y = TensorScatter(x, x2, c)"},
    {"around the end",
     "input x $T [2, 7, 4]\ninput x2 $T [2, 3, 4]\nconst c i64 [2] = [6, 2]\n"
     "y = TensorScatter(x, x2, c) {mode = \"circular\", axis = 1}"},
    {"free", "symbols n\ninput x $T [n, 7, 4]\ninput x2 $T [n, 3, 4]\ny = TensorScatter(x, x2)"},
};
inline constexpr Form kReverseSequenceForms[] = {
    {"", "input x $T [5, 3, 2]\nconst c i64 [3] = [5, 2, 1]\ny = ReverseSequence(x, c)"},
    {"batch first",
     "input x $T [3, 5]\nconst c i64 [3] = [1, 5, 4]\n"
     "y = ReverseSequence(x, c) {batch_axis = 0, time_axis = 1}"},
    {"free",
     "symbols n\ninput x $T [3, 5, n]\nconst c i64 [3] = [1, 5, 4]\n"
     "y = ReverseSequence(x, c) {batch_axis = 0, time_axis = 1}"},
};
inline constexpr Form kSpaceForms[] = {
    {"", "input x $T [1, 8, 4, 6]\ny = $O(x) {blocksize = 2}"},
    {"CRD", "input x $T [2, 9, 3, 6]\ny = $O(x) {blocksize = 3, mode = \"CRD\"}"},
    {"free", "symbols n\ninput x $T [n, 4, 2, 2]\ny = $O(x) {blocksize = 2}"},
};
inline constexpr Form kCol2ImForms[] = {
    {"",
     "input x $T [2, 12, 9]\nconst ci i64 [2] = [6, 6]\nconst ck i64 [2] = [2, 2]\n"
     "y = Col2Im(x, ci, ck) {strides = [2, 2]}"},
    {"overlapping, padded",
     "input x $T [1, 10, 7]\nconst ci i64 [2] = [1, 9]\nconst ck i64 [2] = [1, 5]\n"
     "y = Col2Im(x, ci, ck) {pads = [0, 1, 0, 1]}"},
    {"free",
     "symbols n\ninput x $T [n, 10, 5]\nconst ci i64 [2] = [1, 9]\nconst ck i64 [2] = [1, 5]\n"
     "y = Col2Im(x, ci, ck)"},
};
inline constexpr Form kOneHotForms[] = {
    {"", "input i $T [2, 3]\nconst c i64 [] = [4]\ninput x2 f32 [2]\ny = OneHot(i, c, x2)"},
    {"first axis, free",
     "symbols n\ninput i $T [n]\nconst c i64 [] = [3]\ninput x2 f32 [2]\n"
     "y = OneHot(i, c, x2) {axis = 0}"},
};
inline constexpr Form kEyeLikeForms[] = {
    {"", "input x $T [5, 7]\ny = EyeLike(x)"},
    {"another diagonal", "input x $T [4, 3]\ny = EyeLike(x) {k = -1, dtype = 7}"},
    {"free", "symbols n m\ninput x $T [n, m]\ny = EyeLike(x) {k = 1}"},
};
inline constexpr Form kTriluForms[] = {
    {"upper", "input x $T [3, 5, 7]\ny = Trilu(x)"},
    {"lower", "input x $T [5, 4]\nconst c i64 [] = [-1]\ny = Trilu(x, c) {upper = 0}"},
    {"free", "symbols n m\ninput x $T [n, m]\nconst c i64 [] = [1]\ny = Trilu(x, c)"},
};
inline constexpr Form kResizeForms[] = {
    {"nearest, twice",
     "input x $T [1, 3, 4, 5]\nconst c f32 [4] = [1, 1, 2, 2]\n"
     "y = Resize(x, _, c) {coordinate_transformation_mode = \"asymmetric\", "
     "nearest_mode = \"floor\"}"},
    {"nearest, by default",
     "input x $T [1, 2, 5, 4]\nconst c f32 [4] = [1, 1, 2, 3]\n"
     "y = Resize(x, _, c)"},
    {"nearest, smaller",
     "input x $T [1, 2, 8, 6]\nconst c i64 [4] = [1, 2, 4, 3]\n"
     "y = Resize(x, _, _, c)"},
    {"linear",
     "input x $T [1, 3, 4, 5]\nconst c f32 [4] = [1, 1, 2, 2]\n"
     "y = Resize(x, _, c) {mode = \"linear\"}"},
    {"linear, aligned",
     "input x $T [1, 2, 4, 5]\nconst c i64 [4] = [1, 2, 7, 9]\n"
     "y = Resize(x, _, _, c) {mode = \"linear\", "
     "coordinate_transformation_mode = \"align_corners\"}"},
    {"linear, smaller",
     "input x $T [2, 2, 9, 8]\nconst c i64 [4] = [2, 2, 4, 5]\n"
     "y = Resize(x, _, _, c) {mode = \"linear\"}"},
    {"free",
     "symbols n m\ninput x $T [n, 2, m, 4]\nconst c f32 [4] = [1, 1, 2, 2]\n"
     "y = Resize(x, _, c)"},
};
inline constexpr Form kRangeForms[] = {
    {"free",
     "symbols n\nsymbolic s $T [] = [n]\nconst c0 $T [] = [0]\nconst c1 $T [] = [1]\n"
     "y = Range(c0, s, c1)"},
};
inline constexpr Form kConstantOfShapeForms[] = {
    {"free",
     "symbols n\nsymbolic s i64 [2] = [n, 5]\n"
     "y = ConstantOfShape(s) {value = tensor $T [1] [1]}"},
};

/// One seed gives the same numbers on every target.
inline constexpr Form kDrawnForms[] = {
    {"", "y = $O() {shape = [3, 5], seed = 1.0}"},
};
inline constexpr Form kDrawnLikeForms[] = {
    {"", "input x $T [3, 5]\ny = $O(x) {seed = 1.0}"},
    {"free", "symbols n\ninput x $T [n, 5]\ny = $O(x) {seed = 2.0}"},
};
inline constexpr Form kMultinomialForms[] = {
    {"free",
     "symbols n\ninput x $T [n, 5]\ny = Multinomial(x) {sample_size = 7, dtype = 7, seed = 1.0}"},
};
inline constexpr Form kDropoutForms[] = {
    {"in training",
     "input x $T [3, 5]\nconst c $T [] = [0.5]\nconst ct bool [] = [1]\n"
     "a, b = Dropout(x, c, ct) {seed = 3}\noutput a, b"},
};

inline constexpr OperatorRow kShapeRows[] = {
    {OpKind::kBernoulli, kDrawnLikeForms},
    {OpKind::kCol2Im, kCol2ImForms},
    {OpKind::kConcat, kConcatForms},
    {OpKind::kConstantOfShape, kConstantOfShapeForms},
    {OpKind::kDepthToSpace, kSpaceForms},
    {OpKind::kDropout, kDropoutForms},
    {OpKind::kExpand, kExpandForms},
    {OpKind::kEyeLike, kEyeLikeForms},
    {OpKind::kFlatten, kFlattenForms},
    {OpKind::kGather, kGatherForms},
    {OpKind::kGatherElements, kGatherElementsForms},
    {OpKind::kGatherND, kGatherNdForms},
    {OpKind::kIdentity, kIdentityForms},
    {OpKind::kMultinomial, kMultinomialForms},
    {OpKind::kOneHot, kOneHotForms},
    {OpKind::kPad, kPadForms},
    {OpKind::kRandomNormal, kDrawnForms},
    {OpKind::kRandomNormalLike, kDrawnLikeForms},
    {OpKind::kRandomUniform, kDrawnForms},
    {OpKind::kRandomUniformLike, kDrawnLikeForms},
    {OpKind::kRange, kRangeForms},
    {OpKind::kReshape, kReshapeForms},
    {OpKind::kResize, kResizeForms},
    {OpKind::kReverseSequence, kReverseSequenceForms},
    {OpKind::kScatterElements, kScatterElementsForms},
    {OpKind::kScatterND, kScatterNdForms},
    {OpKind::kSlice, kSliceForms},
    {OpKind::kSpaceToDepth, kSpaceForms},
    {OpKind::kSplit, kSplitForms},
    {OpKind::kSqueeze, kSqueezeForms},
    {OpKind::kTensorScatter, kTensorScatterForms},
    {OpKind::kTile, kTileForms},
    {OpKind::kTranspose, kTransposeForms},
    {OpKind::kTrilu, kTriluForms},
    {OpKind::kUnsqueeze, kUnsqueezeForms},
};

}  // namespace parallax::conformance
