// Attributes of operators that move elements or view them in another shape. They accept any type of
// numbers and bool; strings too, if moves_strings() of ops/op.h says so. Sizes, pads, splits and
// axes that newer operator sets have as inputs are no attributes here: loaders make the attributes
// of older sets constant inputs (load/onnx/normalize).
#pragma once

#include <limits>

#include "ops/params/axis.h"

namespace parallax {

/// Gather: the axis of the data that indices choose from; the dimensions of the indices take its
/// place in the result.
using GatherParams = AxisParams<0>;
/// Flatten: dimensions before the axis become one, those from it on the other. The axis may equal
/// the rank.
using FlattenParams = AxisParams<1>;

/// Transpose: axis i of the result is axis perm[i] of the input.
struct TransposeParams {
  /// ONNX `perm`: each axis once, not negative, otherwise kInvalidModel. Empty: the axes in
  /// reverse.
  std::vector<std::int64_t> perm;

  template <class Visitor>
  void visit(Visitor& v) {
    v("perm", perm);
  }
};

/// Reshape: the sizes are input 1, which may have one -1 for the dimension that the others leave.
/// Two of them, and -1 next to a 0 that means 0, are refused (kInvalidModel).
struct ReshapeParams {
  /// ONNX `allowzero`: a size of 0 means 0, not the size of the input's dimension at that place.
  bool allowzero = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("allowzero", allowzero);
  }
};

/// Split: parts of the input along the axis, an output each. Sizes of the parts are input 1, or
/// follow from the number of outputs.
struct SplitParams : AxisParams<0> {
  /// ONNX `num_outputs` (since operator set 18): must be the number of outputs, and excludes input
  /// 1. The last part may then be smaller than the others; without it all parts must have one size.
  std::optional<std::int64_t> num_outputs;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("num_outputs", num_outputs);
  }
};

/// Contents of pads: a constant (input 2, or zeros), the image mirrored without repeating its edge,
/// the edge, or the image repeated periodically.
enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<PadMode> = {"constant", "reflect", "edge",
                                                                      "wrap"};

/// Pad: elements before and after the axes of input 3, or all axes; input 1 has their numbers,
/// first those before each axis, then those after. Negative numbers remove elements.
struct PadParams {
  /// ONNX `mode`. Another string is refused with kUnsupported. All but kConstant need elements to
  /// copy: an axis of size 0 may not grow (kInvalidModel), and kReflect adds fewer than the axis
  /// has.
  PadMode mode = PadMode::kConstant;

  template <class Visitor>
  void visit(Visitor& v) {
    v("mode", mode);
  }
};

/// The order of an image's channels: kDcr is depth-column-row, where the place in the block is the
/// outer part of a channel's index and the result's channel the inner one; kCrd is the other way
/// round. Within the place the row counts before the column.
enum class DepthOrder : std::uint8_t { kDcr, kCrd };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<DepthOrder> = {"DCR", "CRD"};

/// DepthToSpace and SpaceToDepth of images [batch, channels, height, width]: blocks of blocksize x
/// blocksize pixels move between the plane and the channels.
struct SpaceBlockParams {
  /// ONNX `blocksize`, in pixels, must be given: at least 1, its square within 63 bits. It divides
  /// height and width (SpaceToDepth), its square the channels (DepthToSpace); otherwise
  /// kInvalidModel.
  std::int64_t blocksize = 0;
  /// ONNX `mode`. Another string is refused with kUnsupported.
  DepthOrder mode = DepthOrder::kDcr;

  template <class Visitor>
  void visit(Visitor& v) {
    v("blocksize", blocksize);
    v("mode", mode);
  }
};

/// ReverseSequence (since operator set 10): the first elements of each sequence along the time axis
/// in reverse, as many as input 1 says for the sequence; the rest stays.
struct ReverseSequenceParams {
  /// ONNX `batch_axis` and `time_axis`: one is 0 and the other 1, otherwise kInvalidModel.
  std::int64_t batch_axis = 1, time_axis = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("batch_axis", batch_axis);
    v("time_axis", time_axis);
  }
};

/// Shape: dimensions of the input as i64, which inference knows as expressions.
struct ShapeParams {
  /// ONNX `start` and `end`: axes from `start` on, before `end`; negative: counted from the last.
  /// Both are limited to [0, rank]; an end before the start gives no element.
  std::int64_t start = 0, end = std::numeric_limits<std::int64_t>::max();

  template <class Visitor>
  void visit(Visitor& v) {
    v("start", start);
    v("end", end);
  }
};

}  // namespace parallax
