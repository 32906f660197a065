// Attributes of operators that move elements or view them in another shape.
#pragma once

#include <limits>

#include "ops/params/axis.h"

namespace parallax {

using GatherParams = AxisParams<0>;
using FlattenParams = AxisParams<1>;

struct TransposeParams {
  std::vector<std::int64_t> perm;  ///< empty: the axes in reverse

  template <class Visitor>
  void visit(Visitor& v) {
    v("perm", perm);
  }
};

struct ReshapeParams {
  bool allowzero = false;  ///< a size of 0 means 0, not the size of the input

  template <class Visitor>
  void visit(Visitor& v) {
    v("allowzero", allowzero);
  }
};

struct SplitParams : AxisParams<0> {
  std::optional<std::int64_t> num_outputs;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("num_outputs", num_outputs);
  }
};

/// Pads hold a constant, the image mirrored without repeating its edge, the edge, or the image
/// repeated periodically.
enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<PadMode> = {"constant", "reflect", "edge",
                                                                      "wrap"};

struct PadParams {
  PadMode mode = PadMode::kConstant;

  template <class Visitor>
  void visit(Visitor& v) {
    v("mode", mode);
  }
};

/// The order of an image's channels: depth, column, row or column, row, depth.
enum class DepthOrder : std::uint8_t { kDcr, kCrd };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<DepthOrder> = {"DCR", "CRD"};

/// DepthToSpace and SpaceToDepth.
struct SpaceBlockParams {
  std::int64_t blocksize = 0;  ///< must be given
  DepthOrder mode = DepthOrder::kDcr;

  template <class Visitor>
  void visit(Visitor& v) {
    v("blocksize", blocksize);
    v("mode", mode);
  }
};

struct ReverseSequenceParams {
  std::int64_t batch_axis = 1, time_axis = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("batch_axis", batch_axis);
    v("time_axis", time_axis);
  }
};

struct ShapeParams {
  /// Axes from `start` on, before `end`; negative: counted from the last.
  std::int64_t start = 0, end = std::numeric_limits<std::int64_t>::max();

  template <class Visitor>
  void visit(Visitor& v) {
    v("start", start);
    v("end", end);
  }
};

}  // namespace parallax
