// Attributes of transforms into frequencies: DFT, STFT and MelWeightMatrix, all since operator set
// 17. Signals end with an axis of 1 (real) or 2 (complex: real and imaginary part). Inputs are
// numbered in ops/spectrum.h.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// DFT along one axis: element k is the sum of x[j] e^(-2 pi i j k / n); the inverse has the other
/// sign and is divided by n. The length n is input 1, or the size of the axis: shorter signals are
/// filled with zeros.
struct DftParams {
  /// ONNX `inverse`: back from frequencies.
  bool inverse = false;
  /// ONNX `onesided`: n / 2 + 1 frequencies stand for all, as the signal is real. A forward
  /// transform needs a real input, an inverse one a complex input; otherwise kInvalidModel.
  bool onesided = false;
  /// Whether the result is a real signal, [.., 1]. Its length is 2 (size - 1) unless it is stated.
  bool to_real() const { return inverse && onesided; }

  template <class Visitor>
  void visit(Visitor& v) {
    v("inverse", inverse);
    v("onesided", onesided);
  }
};

/// STFT: transforms of frames that begin a step apart, [batch, n, 1 or 2] to [batch, frames, bins,
/// 2]. The step is input 1, the window input 2, the length of a frame input 3.
struct StftParams {
  /// ONNX `onesided`: a frame of length n has n / 2 + 1 bins; needs a real signal. Otherwise n.
  bool onesided = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("onesided", onesided);
  }
};

/// MelWeightMatrix: [length / 2 + 1, bands] weights, triangles that are spaced evenly on the mel
/// scale, 2595 log10(1 + hertz / 700).
struct MelParams {
  /// ONNX `output_datatype`: ONNX's number of the result's type, one of kNumericTypes; otherwise
  /// kInvalidModel. 1 is f32.
  std::int64_t output_datatype = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("output_datatype", output_datatype);
  }
};

}  // namespace parallax
