// Quantized tensors: an operator reads real numbers behind a DequantizeLinear, and its results pass
// a QuantizeLinear (design: quantisation is explicit). Thread-safety: as OperatorWriter.
#pragma once

#include "load/operator_writer.h"
#include "load/tflite/tflite_file.h"
#include "parallax/model.h"

namespace parallax {

/// Whether the elements of a tensor are integers that stand for real numbers.
bool is_quantized(const tflite_schema::Tensor& tensor);
/// Returns the parameters of a tensor that is_quantized(), with a zero point for each scale.
FileQuantization quantization_of(const tflite_schema::Tensor& tensor);
/// Returns the real numbers of `value`, a tensor that is_quantized().
ValueId dequantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor);
/// Returns real numbers as elements of `tensor`, which is_quantized().
ValueId quantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor);

}  // namespace parallax
