// Forms of the operators that resample images or normalise them by channel.
#pragma once

#include "forms.h"

namespace parallax::conformance {

inline constexpr Form kConvTransposeForms[] = {
    {"doubles",
     "input x $T [1, 3, 5, 6]\nconst w $T [3, 4, 2, 2] = fill 1\n"
     "y = ConvTranspose(x, w) {strides = [2, 2]}"},
    {"groups, padded, biased",
     "input x $T [2, 4, 5, 7]\nconst w $T [4, 3, 3, 2] = fill 1\nconst w2 $T [6] = fill 1\n"
     "y = ConvTranspose(x, w, w2) {group = 2, strides = [2, 1], pads = [1, 0, 0, 1], dilations = "
     "[1, 2]}"},
    {"one axis",
     "input x $T [1, 3, 9]\nconst w $T [3, 2, 4] = fill 1\n"
     "y = ConvTranspose(x, w) {strides = [3], output_padding = [1]}"},
    {"a stated size",
     "input x $T [1, 2, 4]\nconst w $T [2, 2, 3] = fill 1\n"
     "y = ConvTranspose(x, w) {strides = [2], output_shape = [8]}"},
    {"free",
     "symbols n m\ninput x $T [n, 2, m]\nconst w $T [2, 2, 3] = fill 1\n"
     "y = ConvTranspose(x, w) {strides = [2]}"},
};

inline constexpr Form kDeformConvForms[] = {
    {"masked",
     "input x $T [1, 4, 5, 6]\nconst w $T [2, 4, 2, 2] = fill 1\ninput x2 $T [1, 8, 4, 5]\n"
     "const w2 $T [2] = fill 1\ninput x3 $T [1, 4, 4, 5]\ny = DeformConv(x, w, x2, w2, x3)"},
};

inline constexpr Form kUnpoolForms[] = {
    {"",
     "input x $T [1, 1, 3]\nconst ci i64 [1, 1, 3] = [0, 3, 5]\n"
     "y = MaxUnpool(x, ci) {kernel_shape = [2], strides = [2]}"},
};

inline constexpr Form kMaxRoiPoolForms[] = {
    {"",
     "input x $T [1, 2, 6, 7]\nconst cr $T [2, 5] = [0, 1, 1, 4, 5, 0, 0, 0, 6, 5]\n"
     "y = MaxRoiPool(x, cr) {pooled_shape = [2, 3]}"},
};

inline constexpr Form kRoiAlignForms[] = {
    {"means",
     "input x $T [1, 2, 6, 7]\nconst cr $T [2, 4] = [1, 1, 4, 5, 0, 0, 6, 5]\n"
     "const ci i64 [2] = [0, 0]\n"
     "y = RoiAlign(x, cr, ci) {output_height = 2, output_width = 3, sampling_ratio = 2}"},
    {"largest",
     "input x $T [1, 2, 6, 7]\nconst cr $T [1, 4] = [1, 1, 4, 5]\nconst ci i64 [1] = [0]\n"
     "y = RoiAlign(x, cr, ci) {mode = \"max\"}"},
};

inline constexpr Form kGridSampleForms[] = {
    {"linear", "input x $T [1, 2, 5, 6]\ninput x2 $T [1, 3, 4, 2]\ny = GridSample(x, x2)"},
    {"nearest, reflected",
     "input x $T [1, 2, 5]\ninput x2 $T [1, 4, 1]\n"
     "y = GridSample(x, x2) {mode = \"nearest\", padding_mode = \"reflection\"}"},
    {"cubic",
     "input x $T [1, 2, 5, 6]\ninput x2 $T [1, 3, 4, 2]\n"
     "y = GridSample(x, x2) {mode = \"cubic\", padding_mode = \"border\", align_corners = 1}"},
};

inline constexpr Form kLrnForms[] = {
    {"", "input x $T [2, 5, 3, 4]\ny = LRN(x) {size = 3}"},
};

inline constexpr Form kChannelNormForms[] = {
    {"image",
     "input x $T [2, 4, 5, 3]\nconst w $T [4] = fill 1\nconst w2 $T [4] = fill 1\n"
     "y = InstanceNormalization(x, w, w2)"},
};

inline constexpr Form kGroupNormForms[] = {
    {"image",
     "input x $T [2, 4, 5, 3]\nconst w $T [4] = fill 1\nconst w2 $T [4] = fill 1\n"
     "y = GroupNormalization(x, w, w2) {num_groups = 2}"},
};

inline constexpr OperatorRow kVisionRows[] = {
    {OpKind::kConvTranspose, kConvTransposeForms},
    {OpKind::kDeformConv, kDeformConvForms},
    {OpKind::kGridSample, kGridSampleForms},
    {OpKind::kGroupNormalization, kGroupNormForms},
    {OpKind::kInstanceNormalization, kChannelNormForms},
    {OpKind::kLRN, kLrnForms},
    {OpKind::kMaxRoiPool, kMaxRoiPoolForms},
    {OpKind::kMaxUnpool, kUnpoolForms},
    {OpKind::kRoiAlign, kRoiAlignForms},
};

}  // namespace parallax::conformance
