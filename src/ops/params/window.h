// Attributes of operators on images: the layout, and windows that slide over spatial axes.
// complete_windows() of ops/window.h checks lists and makes them explicit for inference; kernels
// and passes use the functions of WindowParams, which need no complete lists. Spatial axes are
// those behind batch and channels, numbered from 0, outermost first; sizes and pads are in
// elements.
#pragma once

#include <algorithm>

#include "ops/params/params.h"

namespace parallax {

/// The order of an image's axes. kNchw: batch, channels, spatial axes; kNhwc: batch, spatial axes,
/// channels. The names hold for any number of spatial axes.
enum class ImageLayout : std::uint8_t { kNchw, kNhwc };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<ImageLayout> = {"NCHW", "NHWC"};

/// The layout of an operator's images, input 0 and output 0. ONNX files have NCHW and may not state
/// it; the loader of TFLite and passes (lower/patterns/nhwc_rules.h) set it.
struct LayoutParams {
  /// Weights keep their order whatever the layout is.
  ImageLayout layout = ImageLayout::kNchw;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("layout", layout, NodeOrigin::kLoader);
  }
};
/// Returns whether the images of `node` have their channels last; false for operators without a
/// layout.
inline bool channels_last(const Node& node) {
  return params_of<LayoutParams>(node).layout == ImageLayout::kNhwc;
}

/// How windows are padded. kNotSet: as `pads` says. kValid: not at all. kSameUpper and kSameLower:
/// so that there are ceil(size / stride) windows; an odd element goes after, or before, the axis.
enum class AutoPad : std::uint8_t { kNotSet, kSameUpper, kSameLower, kValid };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<AutoPad> = {"NOTSET", "SAME_UPPER",
                                                                      "SAME_LOWER", "VALID"};

/// Elements added before and after one axis; not negative.
struct Padding {
  std::int64_t begin = 0, end = 0;
};

/// Windows that slide over the spatial axes of an image. A list is empty, or has one element per
/// spatial axis; `pads` has those before each axis, then those after each. Other lengths, and
/// elements outside the ranges stated here, are kInvalidModel.
struct WindowParams : LayoutParams {
  /// ONNX `auto_pad`. All but kNotSet forbid pads other than 0.
  AutoPad auto_pad = AutoPad::kNotSet;
  /// ONNX `dilations`, the distance between elements of a window, `kernel_shape`, their number, and
  /// `strides`, the distance between windows: each in [1, 2^31); dilations and strides are 1 by
  /// default. Convolutions may leave out kernel_shape, as their weights have it; pools may not.
  /// ONNX `pads`: in [0, 2^31), 0 by default.
  std::vector<std::int64_t> dilations, kernel_shape, pads, strides;

  template <class Visitor>
  void visit(Visitor& v) {
    v("auto_pad", auto_pad);
    v("dilations", dilations);
    v("kernel_shape", kernel_shape);
    v("pads", pads);
    v("strides", strides);
    LayoutParams::visit(v);
  }

  /// Returns whether the padding follows from sizes.
  bool same() const { return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower; }
  /// Returns the stride along a spatial axis; 1 if the list has no such element. dilation() alike.
  std::int64_t stride(std::size_t axis) const { return axis < strides.size() ? strides[axis] : 1; }
  std::int64_t dilation(std::size_t axis) const {
    return axis < dilations.size() ? dilations[axis] : 1;
  }
  /// Returns the padding of spatial axis `axis` of `axes` that `pads` states; 0 with an auto_pad,
  /// and for a list that has not 2 * axes elements.
  Padding stated_padding(std::size_t axis, std::size_t axes) const;
  /// Returns the padding of spatial axis `axis` of `axes` if its outputs read `missing` elements
  /// more than the axis has: `missing` (0 if negative) in two halves if same(), the larger one
  /// after the axis for SAME_UPPER; otherwise as stated.
  Padding padding(std::size_t axis, std::size_t axes, std::int64_t missing) const;
};

/// The input of Conv that is added to the sums, bias included, before the activation. It has the
/// shape of the result. Set by lower/patterns/fuse_conv_residual.cc alone.
inline constexpr std::size_t kConvResidual = 3;

/// Conv and ConvInteger. Weights are [filters, channels / group, kernel..].
struct ConvParams : WindowParams {
  /// ONNX `group`: parts of the channels that are convolved apart, each with its share of the
  /// filters; at least 1, divides channels and filters, otherwise kInvalidModel.
  std::int64_t group = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    WindowParams::visit(v);
    v("group", group);
  }
};

/// ConvTranspose. Weights are [channels, filters / group, kernel..]. Without auto_pad and
/// output_shape, an axis of the result has (size - 1) * stride + output_padding + (kernel - 1) *
/// dilation + 1 - pads elements; with SAME_UPPER and SAME_LOWER size * stride.
struct ConvTransposeParams : ConvParams {
  /// ONNX `output_padding`: elements added to one side of the result, 0 by default. ONNX
  /// `output_shape`: its spatial sizes, not negative; batch and channels in front are dropped.
  /// Empty if they follow from pads; otherwise pads follow from them, and their larger half lies
  /// before the axis unless auto_pad is SAME_UPPER.
  std::vector<std::int64_t> output_padding, output_shape;

  template <class Visitor>
  void visit(Visitor& v) {
    ConvParams::visit(v);
    v("output_padding", output_padding);
    v("output_shape", output_shape);
  }
};

/// The attributes of every pool with windows; kernel_shape must be given.
struct PoolParams : WindowParams {
  /// ONNX `ceil_mode`: a last window that reaches beyond the padding counts if it starts inside the
  /// image or its leading padding; otherwise windows must fit.
  bool ceil_mode = false;

  template <class Visitor>
  void visit(Visitor& v) {
    WindowParams::visit(v);
    v("ceil_mode", ceil_mode);
  }
};

/// MaxPool: the greatest element of each window. Output 1 has the index of that element, i64.
struct MaxPoolParams : PoolParams {
  /// ONNX `storage_order`: indices count spatial axes column-major, the first one fastest. They are
  /// always those of the image in NCHW.
  bool storage_order = false;

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("storage_order", storage_order);
  }
};

/// AveragePool: the mean of each window.
struct AveragePoolParams : PoolParams {
  /// ONNX `count_include_pad`: the divisor counts padding, whose elements are 0.
  bool count_include_pad = false;

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("count_include_pad", count_include_pad);
  }
};

/// LpPool: the p-th root of the sum of the p-th powers of magnitudes in each window.
struct LpPoolParams : PoolParams {
  /// ONNX `p`, at least 1; otherwise kInvalidModel.
  std::int64_t p = 2;

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("p", p);
  }
};

/// GlobalLpPool: one window as large as the plane. GlobalAveragePool and GlobalMaxPool have
/// LayoutParams alone.
struct GlobalLpPoolParams : LayoutParams {
  /// ONNX `p`, as that of LpPool.
  std::int64_t p = 2;

  template <class Visitor>
  void visit(Visitor& v) {
    LayoutParams::visit(v);
    v("p", p);
  }
};

/// MaxUnpool (since operator set 9): the reverse of MaxPool, each element at its index among zeros.
/// It, Col2Im and DeformConv have windows with fewer attributes; the members that visit() leaves
/// out keep their defaults.
struct MaxUnpoolParams : WindowParams {
  template <class Visitor>
  void visit(Visitor& v) {
    v("kernel_shape", kernel_shape);
    v("pads", pads);
    v("strides", strides);
  }
};

/// Col2Im (since operator set 18): adds columns [batch, channels * block, positions] at the places
/// of their blocks in an image. Sizes of image and block are inputs 1 and 2.
struct Col2ImParams : WindowParams {
  template <class Visitor>
  void visit(Visitor& v) {
    v("dilations", dilations);
    v("pads", pads);
    v("strides", strides);
  }
};

/// DeformConv (since operator set 19): a convolution whose taps are moved by offsets, input 2, and
/// multiplied by a mask, input 4. NCHW with at most 3 spatial axes (more: kUnsupported).
struct DeformConvParams : ConvParams {
  /// ONNX `offset_group`: parts of the channels that have offsets of their own; at least 1, divides
  /// the channels, otherwise kInvalidModel.
  std::int64_t offset_group = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("dilations", dilations);
    v("group", group);
    v("kernel_shape", kernel_shape);
    v("offset_group", offset_group);
    v("pads", pads);
    v("strides", strides);
  }
};

/// Returns the groups of a convolution, at least 1 also for attributes that inference has not seen.
inline std::int64_t groups_of(const Node& convolution) {
  return std::max<std::int64_t>(params_of<ConvParams>(convolution).group, 1);
}

}  // namespace parallax
