// Quantises tensors of a case as exporters do: bytes with scale and zero point, weights in each of
// their spellings. Used by motifs_quantised.cc alone. Not thread-safe.
//
// Most cases have exact scales: each is an odd number times a power of two, so that no sum of
// products lies in the middle between two integers. Other kernels then give the same bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator.h"

namespace parallax::fuzz {

/// A tensor of integers that represent (q - zero) * scale.
struct Quantised {
  std::string name;
  float scale = 1;
  std::int64_t zero = 0;
};

/// Weights as real numbers; their scales are empty if no bytes represent them.
struct RealWeights {
  std::string name;
  std::vector<float> scales;
};

class Quantiser {
 public:
  explicit Quantiser(Generator& g);

  Generator& generator() { return g_; }
  /// One of the 8-bit types, the same for all activations of a case.
  DType activations() const { return activations_; }
  /// A scale for real numbers of magnitude 2 or so.
  float any_scale();
  /// A scale for sums of `depth` products of `x` and weights.
  float scale_of_sums(const Quantised& x, const RealWeights& w, std::int64_t depth);
  std::int64_t any_zero(DType dtype);

  std::string scalar(float value);
  /// Integers of `dtype` in [low, high].
  std::string integers(DType dtype, const Dims& dims, std::int64_t low, std::int64_t high);
  /// Integers that make good weights.
  std::string weight_bytes(DType dtype, const Dims& dims);
  std::string zero_point(DType dtype, std::int64_t zero);

  /// QuantizeLinear of `x`; the name is empty if that does not compute.
  Quantised quantised(const std::string& x, float scale);
  /// DequantizeLinear of `x`, a node of its own for each call; empty if `x` is.
  std::string real(const Quantised& x);
  /// Both, one after the other.
  std::string rounded(const std::string& x, float scale);
  /// Weights with one scale, or with one for each index of `axis`, in any spelling.
  RealWeights weights(const Dims& dims, int axis);
  /// A bias of `count` numbers behind sums of products of `x` and `w`: 32-bit integers or floats;
  /// empty for none.
  std::string bias(const Quantised& x, const RealWeights& w, std::int64_t count);

 private:
  RealWeights scaled_bytes(const Dims& dims, int axis, bool is_signed, bool each);
  RealWeights rounded_weights(const Dims& dims);
  RealWeights half_weights(const Dims& dims, bool bytes);
  RealWeights blocked_weights(const Dims& dims, int axis);
  float weight_scale();
  std::string halves(const std::vector<float>& elements, const Dims& dims);
  std::string widened(const std::string& half);

  Generator& g_;
  const bool exact_, small_;
  const DType activations_;
};

}  // namespace parallax::fuzz
