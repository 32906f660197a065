// Attributes of operators that draw random numbers. Random number i of a node follows from the seed
// and i alone, so that results are the same on any number of threads and in every run; they are not
// those of other runtimes. OpDef::random is true for all: passes neither fold nor merge such nodes.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Bernoulli (since operator set 15): 1 with the probability given by the input's element, else 0.
/// These attributes are also those that all operators but Dropout have.
struct RandomParams {
  /// ONNX `dtype`: ONNX's number of the type of the result; absent: the operator's default, which
  /// is the input's type, f32 for RandomUniform and RandomNormal, i32 for Multinomial. Errors:
  /// kInvalidModel if there is no such type, kUnsupported for one that the operator cannot give.
  std::optional<std::int64_t> dtype;
  /// ONNX `seed`: its bits are the key of the generator (kernels/reference/philox.h). Absent: a
  /// hash of the node's name, so that two nodes without seeds differ.
  std::optional<float> seed;

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
    v("seed", seed);
  }
};

/// RandomUniformLike: uniform numbers of the shape of the input.
struct UniformParams : RandomParams {
  /// ONNX `high` and `low`: results are low + (high - low) u, u being in [0, 1). Any numbers are
  /// accepted.
  float high = 1, low = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("high", high);
    v("low", low);
  }
};

/// RandomNormalLike: normal numbers of the shape of the input.
struct NormalParams : RandomParams {
  /// ONNX `mean` and `scale`, the standard deviation. Any numbers are accepted.
  float mean = 0, scale = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("mean", mean);
    v("scale", scale);
  }
};

/// RandomUniform and RandomNormal, whose result has a shape of its own: `Params` is UniformParams
/// or NormalParams.
template <class Params>
struct ShapedParams : Params {
  /// ONNX `shape`, required: dimensions from 0 on, otherwise kInvalidModel.
  std::optional<std::vector<std::int64_t>> shape;

  template <class Visitor>
  void visit(Visitor& v) {
    Params::visit(v);
    v("shape", shape);
  }
};

/// Multinomial (since operator set 7): indices of classes, drawn with probabilities whose
/// logarithms are the input [batch, classes]; the probabilities need not add up to 1. Gives i32 or
/// i64 [batch, sample_size].
struct MultinomialParams : RandomParams {
  /// ONNX `sample_size`: draws for each row, at least 1; otherwise kInvalidModel.
  std::int64_t sample_size = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("sample_size", sample_size);
  }
};

/// Dropout in training. Loaders replace a Dropout whose training mode is known to be false by an
/// Identity. The ratio is input 1, or 0.5 if that is left out. If the training mode, input 2, is
/// true, a ratio outside [0, 1] is kInvalidInput during the run. If the mode is false or left out,
/// the ratio is not checked and the result is the input.
struct DropoutParams {
  /// ONNX `seed`: an integer, unlike that of RandomParams. Absent: a hash of the node's name.
  std::optional<std::int64_t> seed;

  template <class Visitor>
  void visit(Visitor& v) {
    v("seed", seed);
  }
};

}  // namespace parallax
