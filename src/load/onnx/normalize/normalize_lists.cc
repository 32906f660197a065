// Operators whose lists of numbers were attributes before they became inputs.
#include <limits>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {
namespace {

Constant scalar(float value) {
  return make_constant(DType::kF32, Dims{}, std::as_bytes(std::span(&value, 1)));
}

tl::unexpected<Error> missing(const FileNode& file, std::string_view attribute) {
  return invalid_model("attribute '" + std::string(attribute) + "' is missing", file.node.name);
}

/// Gives input `i`, a float, the type of input 0.
Status match_type(FileNode& file, std::size_t i) {
  Rewriting to(file);
  const ValueId typed = to.cast_to(file.node.inputs[i], to.dtype(to.need(0)));
  if (to.failed()) return to.finish();
  file.node.inputs[i] = typed;
  return {};
}

}  // namespace

/// Before 11 the bounds were attributes whose defaults are the largest finite floats.
Status rewrite_clip(FileNode& file) {
  if (file.opset >= 11) return {};
  constexpr float kMax = std::numeric_limits<float>::max();
  PX_ASSIGN(const auto min, file.take<float>("min"));
  PX_ASSIGN(const auto max, file.take<float>("max"));
  file.set_input(1, file.constant("min", scalar(min.value_or(-kMax))));
  file.set_input(2, file.constant("max", scalar(max.value_or(kMax))));
  PX_RETURN_IF_ERROR(match_type(file, 1));
  return match_type(file, 2);
}

Status rewrite_pad(FileNode& file) {
  if (file.opset >= 11) return {};
  if (file.opset < 2) PX_RETURN_IF_ERROR(file.attribute_to_input("paddings", 1));
  PX_RETURN_IF_ERROR(file.attribute_to_input("pads", 1));
  if (!file.has_input(1)) return missing(file, "pads");
  PX_ASSIGN(const auto value, file.take<float>("value"));
  if (!value) return {};
  file.set_input(2, file.constant("value", scalar(*value)));
  return match_type(file, 2);
}

Status rewrite_reduce(FileNode& file) {
  return file.opset < 18 ? file.attribute_to_input("axes", 1) : Status();
}

Status rewrite_reduce_sum(FileNode& file) {
  return file.opset < 13 ? file.attribute_to_input("axes", 1) : Status();
}

Status rewrite_slice(FileNode& file) {
  if (file.opset >= 10) return {};
  PX_RETURN_IF_ERROR(file.attribute_to_input("starts", 1));
  PX_RETURN_IF_ERROR(file.attribute_to_input("ends", 2));
  PX_RETURN_IF_ERROR(file.attribute_to_input("axes", 3));
  if (!file.has_input(1)) return missing(file, "starts");
  return file.has_input(2) ? Status() : missing(file, "ends");
}

Status rewrite_split(FileNode& file) {
  return file.opset < 13 ? file.attribute_to_input("split", 1) : Status();
}

/// Squeeze and Unsqueeze.
Status rewrite_squeeze(FileNode& file) {
  if (file.opset < 13) return file.attribute_to_input("axes", 1);
  return file.has_input(1) && file.constant_input(1) == nullptr ? rewrite_computed_axes(file)
                                                                : Status();
}

Status rewrite_top_k(FileNode& file) {
  if (file.opset >= 10) return {};
  PX_ASSIGN(const auto k, file.take<std::int64_t>("k"));
  if (!k) return missing(file, "k");
  file.set_input(1, file.constant("k", make_i64(std::span(&*k, 1))));
  return {};
}

}  // namespace parallax
