// Attributes of transforms into frequencies.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct DftParams {
  bool inverse = false;
  bool onesided = false;  ///< half of the frequencies stand for all: the signal is real
  /// Whether the result is a real signal.
  bool to_real() const { return inverse && onesided; }

  template <class Visitor>
  void visit(Visitor& v) {
    v("inverse", inverse);
    v("onesided", onesided);
  }
};

struct StftParams {
  bool onesided = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("onesided", onesided);
  }
};

struct MelParams {
  std::int64_t output_datatype = 1;  ///< ONNX's number

  template <class Visitor>
  void visit(Visitor& v) {
    v("output_datatype", output_datatype);
  }
};

}  // namespace parallax
