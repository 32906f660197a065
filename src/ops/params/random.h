// Attributes of operators that draw random numbers.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Bernoulli.
struct RandomParams {
  std::optional<std::int64_t> dtype;  ///< ONNX's number; absent: the operator's default
  std::optional<float> seed;

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
    v("seed", seed);
  }
};

/// RandomUniformLike.
struct UniformParams : RandomParams {
  float high = 1, low = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("high", high);
    v("low", low);
  }
};

/// RandomNormalLike.
struct NormalParams : RandomParams {
  float mean = 0, scale = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("mean", mean);
    v("scale", scale);
  }
};

/// RandomUniform and RandomNormal, whose result has a shape of its own.
template <class Params>
struct ShapedParams : Params {
  std::optional<std::vector<std::int64_t>> shape;  ///< required

  template <class Visitor>
  void visit(Visitor& v) {
    Params::visit(v);
    v("shape", shape);
  }
};

struct MultinomialParams : RandomParams {
  std::int64_t sample_size = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    RandomParams::visit(v);
    v("sample_size", sample_size);
  }
};

struct DropoutParams {
  std::optional<std::int64_t> seed;

  template <class Visitor>
  void visit(Visitor& v) {
    v("seed", seed);
  }
};

}  // namespace parallax
