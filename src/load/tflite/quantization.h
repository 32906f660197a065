// Quantized tensors: an operator reads real numbers behind a DequantizeLinear, and its results pass
// a QuantizeLinear (design: quantisation is explicit). Thread-safety: as OperatorWriter.
#pragma once

#include "load/operator_writer.h"
#include "load/tflite/tflite_file.h"
#include "parallax/model.h"

namespace parallax {

/// Whether the elements of a tensor are integers that stand for real numbers. True for integer
/// types with at least one scale.
bool is_quantized(const tflite_schema::Tensor& tensor);
/// Returns the parameters of a tensor that is_quantized(), with a zero point for each scale. One
/// zero point for all scales is repeated; zero points that are absent are 0.
FileQuantization quantization_of(const tflite_schema::Tensor& tensor);
/// Returns the real numbers of `value`, a tensor that is_quantized(). (value - zero point) * scale
/// as f32, along the axis of the scales. i64 goes through a Cast and a Mul.
ValueId dequantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor);
/// Returns real numbers as elements of `tensor`, which is_quantized(). Elements of i8, u8 and i16
/// saturate as QuantizeLinear does; i32 are rounded quotients without a zero point. Fails with
/// kUnsupported for other types.
ValueId quantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor);

}  // namespace parallax
