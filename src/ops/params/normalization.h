// Attributes of normalisations. Softmax, LogSoftmax and Hardmax have an axis alone.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

using SoftmaxParams = AxisParams<-1>;

struct LpNormalizationParams : AxisParams<-1> {
  std::int64_t p = 2;  ///< 1 or 2

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("p", p);
  }
};

/// The number that keeps a division from one by zero.
struct EpsilonParams {
  float epsilon = 1e-5F;

  template <class Visitor>
  void visit(Visitor& v) {
    v("epsilon", epsilon);
  }
};
using InstanceNormalizationParams = EpsilonParams;

/// LayerNormalization and RMSNormalization.
struct LayerNormalizationParams : AxisParams<-1>, EpsilonParams {
  std::int64_t stash_type = 1;  ///< ONNX's number of the type of the statistics

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    EpsilonParams::visit(v);
    v("stash_type", stash_type);
  }
};

struct BatchNormalizationParams : EpsilonParams {
  float momentum = 0.9F;  ///< concerns training only
  bool training_mode = false;

  template <class Visitor>
  void visit(Visitor& v) {
    EpsilonParams::visit(v);
    v("momentum", momentum);
    v("training_mode", training_mode);
  }
};

struct GroupNormalizationParams : EpsilonParams {
  std::int64_t num_groups = 0;  ///< must be given
  std::int64_t stash_type = 1;  ///< not read: sums are as precise as they can be

  template <class Visitor>
  void visit(Visitor& v) {
    EpsilonParams::visit(v);
    v("num_groups", num_groups);
    v("stash_type", stash_type);
  }
};

struct LrnParams {
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
  std::int64_t size = 0;  ///< channels of a window; must be given

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
    v("size", size);
  }
};

}  // namespace parallax
