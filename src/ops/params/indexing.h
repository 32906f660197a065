// Attributes of operators whose indices choose elements. Gather and GatherElements have an axis
// alone.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

struct GatherNDParams {
  std::int64_t batch_dims = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("batch_dims", batch_dims);
  }
};

/// How a scatter combines the old element with the update. kNone writes the update.
enum class ScatterReduction : std::uint8_t { kNone, kAdd, kMul, kMax, kMin };
template <>
inline constexpr std::array<std::string_view, 5> kChoices<ScatterReduction> = {"none", "add", "mul",
                                                                               "max", "min"};

struct ScatterNDParams {
  ScatterReduction reduction = ScatterReduction::kNone;

  template <class Visitor>
  void visit(Visitor& v) {
    v("reduction", reduction);
  }
};

struct ScatterElementsParams : AxisParams<0>, ScatterNDParams {
  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    ScatterNDParams::visit(v);
  }
};

enum class CacheMode : std::uint8_t { kLinear, kCircular };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<CacheMode> = {"linear", "circular"};

struct TensorScatterParams : AxisParams<-2> {
  CacheMode mode = CacheMode::kLinear;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("mode", mode);
  }
};

struct UniqueParams : OptionalAxisParams {
  bool sorted = true;

  template <class Visitor>
  void visit(Visitor& v) {
    OptionalAxisParams::visit(v);
    v("sorted", sorted);
  }
};

struct NonMaxSuppressionParams {
  bool center_point_box = false;  ///< boxes are centre and size instead of two corners

  template <class Visitor>
  void visit(Visitor& v) {
    v("center_point_box", center_point_box);
  }
};

}  // namespace parallax
