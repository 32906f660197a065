// Attributes of operators on images: the layout, and windows that slide over spatial axes.
#pragma once

#include <algorithm>

#include "ops/params/params.h"

namespace parallax {

enum class ImageLayout : std::uint8_t { kNchw, kNhwc };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<ImageLayout> = {"NCHW", "NHWC"};

/// The layout of an operator's images, set by passes and loaders: ONNX files have NCHW.
struct LayoutParams {
  ImageLayout layout = ImageLayout::kNchw;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("layout", layout, NodeOrigin::kLoader);
  }
};
/// Whether the images of `node` have their channels last. False for operators without a layout.
inline bool channels_last(const Node& node) {
  return params_of<LayoutParams>(node).layout == ImageLayout::kNhwc;
}

enum class AutoPad : std::uint8_t { kNotSet, kSameUpper, kSameLower, kValid };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<AutoPad> = {"NOTSET", "SAME_UPPER",
                                                                      "SAME_LOWER", "VALID"};

/// Elements added before and after one axis.
struct Padding {
  std::int64_t begin = 0, end = 0;
};

/// Windows that slide over the spatial axes of an image. A list is empty, or has one element per
/// spatial axis; `pads` has those before each axis, then those after each.
struct WindowParams : LayoutParams {
  AutoPad auto_pad = AutoPad::kNotSet;
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

  /// Whether the padding follows from sizes.
  bool same() const { return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower; }
  std::int64_t stride(std::size_t axis) const { return axis < strides.size() ? strides[axis] : 1; }
  std::int64_t dilation(std::size_t axis) const {
    return axis < dilations.size() ? dilations[axis] : 1;
  }
  /// The padding of spatial axis `axis` of `axes` that `pads` states; 0 with an auto_pad.
  Padding stated_padding(std::size_t axis, std::size_t axes) const;
  /// The padding of spatial axis `axis` of `axes` if its outputs read `missing` elements more than
  /// the axis has: `missing` in two halves if same(), the larger one after the axis for SAME_UPPER;
  /// otherwise as stated.
  Padding padding(std::size_t axis, std::size_t axes, std::int64_t missing) const;
};

/// Conv and ConvInteger.
struct ConvParams : WindowParams {
  std::int64_t group = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    WindowParams::visit(v);
    v("group", group);
  }
};

struct ConvTransposeParams : ConvParams {
  /// Elements added to one side of the result; its spatial sizes, empty if they follow from pads.
  std::vector<std::int64_t> output_padding, output_shape;

  template <class Visitor>
  void visit(Visitor& v) {
    ConvParams::visit(v);
    v("output_padding", output_padding);
    v("output_shape", output_shape);
  }
};

struct PoolParams : WindowParams {
  bool ceil_mode = false;

  template <class Visitor>
  void visit(Visitor& v) {
    WindowParams::visit(v);
    v("ceil_mode", ceil_mode);
  }
};

struct MaxPoolParams : PoolParams {
  bool storage_order = false;  ///< indices count along columns

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("storage_order", storage_order);
  }
};

struct AveragePoolParams : PoolParams {
  bool count_include_pad = false;

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("count_include_pad", count_include_pad);
  }
};

struct LpPoolParams : PoolParams {
  std::int64_t p = 2;

  template <class Visitor>
  void visit(Visitor& v) {
    PoolParams::visit(v);
    v("p", p);
  }
};

struct GlobalLpPoolParams : LayoutParams {
  std::int64_t p = 2;

  template <class Visitor>
  void visit(Visitor& v) {
    LayoutParams::visit(v);
    v("p", p);
  }
};

/// MaxUnpool, Col2Im and DeformConv have windows with fewer attributes.
struct MaxUnpoolParams : WindowParams {
  template <class Visitor>
  void visit(Visitor& v) {
    v("kernel_shape", kernel_shape);
    v("pads", pads);
    v("strides", strides);
  }
};

struct Col2ImParams : WindowParams {
  template <class Visitor>
  void visit(Visitor& v) {
    v("dilations", dilations);
    v("pads", pads);
    v("strides", strides);
  }
};

struct DeformConvParams : ConvParams {
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

/// The groups of a convolution: at least 1.
inline std::int64_t groups_of(const Node& convolution) {
  return std::max<std::int64_t>(params_of<ConvParams>(convolution).group, 1);
}

}  // namespace parallax
