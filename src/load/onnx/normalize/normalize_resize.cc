// Resize and its forerunner Upsample. Before operator set 11 both mapped output x to input
// x / scale, and nearest took the element before that position when growing, the one after it when
// shrinking.
#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"

namespace parallax {
namespace {

constexpr std::size_t kRoi = 1, kScales = 2, kSizes = 3;

std::vector<float> floats(const Constant& constant) {
  std::vector<float> values;
  if (constant.dtype != DType::kF32) return values;
  values.resize(constant.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), constant.bytes.data(), constant.bytes.size());
  return values;
}

/// The modes that the newest Resize needs to do what the first one did.
Status set_first_modes(FileNode& file) {
  Attributes& attributes = file.node.attributes;
  const Constant* constant = file.constant_input(kScales);
  const auto scales = constant == nullptr ? std::vector<float>{} : floats(*constant);
  const bool shrinks = std::any_of(scales.begin(), scales.end(), [](float s) { return s < 1; });
  const bool grows = std::any_of(scales.begin(), scales.end(), [](float s) { return s > 1; });
  const bool nearest = attributes.get_string("mode", "nearest") == "nearest";
  if (nearest && shrinks && grows) {
    return file.refuse("nearest that grows one axis and shrinks another is not supported");
  }
  attributes.set("coordinate_transformation_mode", "asymmetric");
  if (nearest) attributes.set("nearest_mode", shrinks ? "ceil" : "floor");
  return {};
}

/// The first Upsample has scales of height and width, and calls linear by another name.
Status join_scales(FileNode& file) {
  PX_ASSIGN(const auto height, file.take<float>("height_scale"));
  PX_ASSIGN(const auto width, file.take<float>("width_scale"));
  if (!height || !width)
    return invalid_model("Upsample: needs height_scale and width_scale", file.node.name);
  file.node.attributes.set("scales", std::vector<float>{1, 1, *height, *width});
  if (file.node.attributes.get_string("mode", "") == "bilinear")
    file.node.attributes.set("mode", "linear");
  return {};
}

void drop_if_empty(FileNode& file, std::size_t input) {
  const Constant* constant = file.constant_input(input);
  if (constant != nullptr && constant->dims.elements() == 0) file.node.inputs[input] = ValueId{};
}

}  // namespace

Status rewrite_resize(FileNode& file) {
  auto& inputs = file.node.inputs;
  if (file.opset == 10) {
    if (inputs.size() != 2) return invalid_model("Resize: must have 2 inputs", file.node.name);
    inputs.insert(inputs.begin() + kRoi, ValueId{});
    return set_first_modes(file);
  }
  // The region of interest is read by tf_crop_and_resize only; exporters fill it, and scales or
  // sizes, with empty tensors.
  const bool crops = file.node.attributes.get_string("coordinate_transformation_mode",
                                                     "half_pixel") == "tf_crop_and_resize";
  if (inputs.size() > kRoi && !crops) inputs[kRoi] = ValueId{};
  drop_if_empty(file, kScales);
  drop_if_empty(file, kSizes);
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return {};
}

Status rewrite_upsample(FileNode& file) {
  auto& inputs = file.node.inputs;
  if (file.opset < 7) PX_RETURN_IF_ERROR(join_scales(file));
  if (file.opset < 9) {
    PX_ASSIGN(const auto scales, file.take<std::vector<float>>("scales"));
    if (!scales || inputs.size() != 1) {
      return invalid_model("Upsample: needs 1 input and the attribute 'scales'", file.node.name);
    }
    const Dims dims{static_cast<std::int64_t>(scales->size())};
    const auto bytes = std::as_bytes(std::span(*scales));
    inputs.push_back(file.constant("scales", make_constant(DType::kF32, dims, bytes)));
  }
  if (inputs.size() != 2) return invalid_model("Upsample: must have 2 inputs", file.node.name);
  inputs.insert(inputs.begin() + kRoi, ValueId{});
  return set_first_modes(file);
}

}  // namespace parallax
