// Attributes of normalisations. Softmax, LogSoftmax and Hardmax have an axis alone. Statistics are
// taken in double precision by the reference kernels, whatever `stash_type` says. Inputs are floats
// (kFloatTypes).
#pragma once

#include "ops/params/axis.h"

namespace parallax {

/// Softmax, LogSoftmax and Hardmax: the one axis along which elements are compared. Operator sets
/// before 13 flattened the axes from `axis` on: a loader rewrites such nodes.
using SoftmaxParams = AxisParams<-1>;

/// LpNormalization: x / norm along the axis; 0 if the norm is 0.
struct LpNormalizationParams : AxisParams<-1> {
  /// ONNX `p`: 1, the sum of magnitudes, or 2, the Euclidean length. Other numbers are refused
  /// (kInvalidModel).
  std::int64_t p = 2;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("p", p);
  }
};

/// The number that keeps a division from one by zero. Base of the structs below, whose nodes
/// kernels may read through it alone.
struct EpsilonParams {
  /// ONNX `epsilon`: added to the variance (or to the mean of squares) before its root. Any number
  /// is accepted.
  float epsilon = 1e-5F;

  template <class Visitor>
  void visit(Visitor& v) {
    v("epsilon", epsilon);
  }
};
/// InstanceNormalization: each channel of each image is normalised on its own.
using InstanceNormalizationParams = EpsilonParams;

/// LayerNormalization (since operator set 17): (x - mean) / sqrt(variance + epsilon) * scale + bias
/// over the axes from `axis` to the last. RMSNormalization (23): x / sqrt(mean of x^2 + epsilon) *
/// scale over the same.
struct LayerNormalizationParams : AxisParams<-1>, EpsilonParams {
  /// ONNX `stash_type`: ONNX's number of the type of the outputs mean and inverse deviation; 1
  /// (f32) or 16 (bf16), otherwise kUnsupported. It does not change the precision of the sums.
  std::int64_t stash_type = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    EpsilonParams::visit(v);
    v("stash_type", stash_type);
  }
};

/// BatchNormalization: (x - mean) / sqrt(variance + epsilon) * scale + bias for each channel, axis
/// 1. Mean and variance are inputs 3 and 4, or in training those of the batch.
struct BatchNormalizationParams : EpsilonParams {
  /// ONNX `momentum`: in training, outputs 1 and 2 are input * momentum + (statistic of the batch)
  /// * (1 - momentum). Inference ignores it.
  float momentum = 0.9F;
  /// ONNX `training_mode` (since operator set 14; loaders set it for older nodes that train).
  /// Without it a node may have no outputs behind the first (kInvalidModel).
  bool training_mode = false;

  template <class Visitor>
  void visit(Visitor& v) {
    EpsilonParams::visit(v);
    v("momentum", momentum);
    v("training_mode", training_mode);
  }
};

/// GroupNormalization (since operator set 18): statistics over each group of neighbouring channels
/// of each image. Scale and bias have an element for each channel, or, as in set 18, for each
/// group: their length tells.
struct GroupNormalizationParams : EpsilonParams {
  /// ONNX `num_groups`: must be given, at least 1; divides the channels. Otherwise kInvalidModel.
  std::int64_t num_groups = 0;
  /// ONNX `stash_type`, which is not read: sums are as precise as they can be.
  std::int64_t stash_type = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    EpsilonParams::visit(v);
    v("num_groups", num_groups);
    v("stash_type", stash_type);
  }
};

/// LRN of images [batch, channels, ..]: x / (bias + alpha / size * sum of squares)^beta, the sum
/// over `size` neighbouring channels around that of x.
struct LrnParams {
  /// ONNX `alpha`, `beta` and `bias`, as in the formula.
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
  /// ONNX `size`: channels of a window. Must be given, at least 1; otherwise kInvalidModel.
  std::int64_t size = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
    v("size", size);
  }
};

}  // namespace parallax
