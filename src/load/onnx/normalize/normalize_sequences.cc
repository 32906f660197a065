// Operators of sequences: DFT, LSTM, GRU and RNN.
#include <span>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "ops/params/axis.h"

namespace parallax {

/// Before 20 the axis is an attribute, by default 1.
Status rewrite_dft(FileNode& file) {
  if (file.opset >= 20) return {};
  PX_ASSIGN(const auto stated, file.take<std::int64_t>(param_name(&AxisParams<0>::axis)));
  if (file.node.inputs.size() > 2) return invalid_model("DFT: too many inputs", file.node.name);
  const std::int64_t axis = stated.value_or(1);
  file.set_input(2, file.constant("axis", make_constant(DType::kI64, Dims{},
                                                        std::as_bytes(std::span(&axis, 1)))));
  return {};
}

/// Before 7 an attribute says whether Y is wanted, which its being read does as well.
Status rewrite_recurrent(FileNode& file) {
  if (file.opset < 7) PX_RETURN_IF_ERROR(file.take<std::int64_t>("output_sequence"));
  return {};
}

}  // namespace parallax
