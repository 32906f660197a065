#include "load/tflite/quantization.h"

#include <algorithm>
#include <vector>

#include "ops/params/axis.h"

namespace parallax {
namespace {

template <class T>
Constant list_of(DType dtype, const std::vector<T>& elements, bool scalar) {
  const Dims dims = scalar ? Dims{} : Dims{std::ssize(elements)};
  return make_constant(dtype, dims, std::as_bytes(std::span(elements)));
}

template <class T>
Constant zeros_of(DType dtype, std::span<const std::int64_t> zeros, bool scalar) {
  std::vector<T> elements;
  for (const std::int64_t zero : zeros) elements.push_back(static_cast<T>(zero));
  return list_of(dtype, elements, scalar);
}

/// Scales, zero points and axis as QuantizeLinear and DequantizeLinear read them.
struct Linear {
  ValueId scale, zero;
  Attributes attributes;
};

/// Zero points of types that have none are 0, as the format demands.
Linear linear_of(OperatorWriter& writer, const tflite_schema::Tensor& tensor, DType dtype) {
  const auto [scales, points, axis] = quantization_of(tensor);
  const bool scalar = scales.size() == 1;
  Linear linear;
  linear.scale = writer.constant(list_of(DType::kF32, scales, scalar));
  if (dtype == DType::kI8)
    linear.zero = writer.constant(zeros_of<std::int8_t>(dtype, points, scalar));
  if (dtype == DType::kU8)
    linear.zero = writer.constant(zeros_of<std::uint8_t>(dtype, points, scalar));
  if (dtype == DType::kI16)
    linear.zero = writer.constant(zeros_of<std::int16_t>(dtype, points, scalar));
  if (!scalar) linear.attributes = with_axis(axis);
  return linear;
}

}  // namespace

bool is_quantized(const tflite_schema::Tensor& tensor) {
  const auto dtype = dtype_of(tensor.type());
  if (!dtype || tensor.quantization() == nullptr) return false;
  const DTypeClass kind = info_of(*dtype).kind;
  return (kind == DTypeClass::kSigned || kind == DTypeClass::kUnsigned) &&
         length_of(tensor.quantization()->scale()) > 0;
}

FileQuantization quantization_of(const tflite_schema::Tensor& tensor) {
  const auto scales = elements_of(tensor.quantization()->scale());
  const auto zeros = longs_of(tensor.quantization()->zero_point());
  FileQuantization parameters{{scales.begin(), scales.end()}, {}, 0};
  parameters.zero_points.resize(scales.size());
  for (std::size_t i = 0; i < scales.size() && !zeros.empty(); ++i)
    parameters.zero_points[i] = zeros[std::min(i, zeros.size() - 1)];
  if (scales.size() != 1) parameters.axis = quantized_axis(tensor).value_or(0);
  return parameters;
}

ValueId dequantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor) {
  const DType dtype = dtype_of(tensor.type()).value_or(DType::kI8);
  Linear linear = linear_of(writer, tensor, dtype);
  if (dtype == DType::kI64) return writer.mul(writer.cast(value, DType::kF32), linear.scale);
  return writer.op(OpKind::kDequantizeLinear, {value, linear.scale, linear.zero},
                   std::move(linear.attributes));
}

ValueId quantized(OperatorWriter& writer, ValueId value, const tflite_schema::Tensor& tensor) {
  const DType dtype = dtype_of(tensor.type()).value_or(DType::kI8);
  Linear linear = linear_of(writer, tensor, dtype);
  if (dtype == DType::kI32)
    return writer.cast(writer.op(OpKind::kRound, {writer.div(value, linear.scale)}), dtype);
  if (!linear.zero.valid()) {
    writer.refuse("a result of this quantized type is not supported");
    return {};
  }
  return writer.op(OpKind::kQuantizeLinear, {value, linear.scale, linear.zero},
                   std::move(linear.attributes));
}

}  // namespace parallax
