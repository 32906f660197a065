// GridSample and RoiAlign.
#include "load/onnx/normalize/normalize.h"

namespace parallax {

/// Before 20, two modes had the names that they have for images.
Status rewrite_grid_sample(FileNode& file) {
  if (file.opset >= 20) return {};
  Attributes& attributes = file.node.attributes;
  const std::string mode = attributes.get_string("mode", "bilinear");
  if (mode == "bilinear") attributes.set("mode", std::string("linear"));
  if (mode == "bicubic") attributes.set("mode", std::string("cubic"));
  return {};
}

/// Before 16 the image's coordinates were not shifted.
Status rewrite_roi_align(FileNode& file) {
  if (file.opset < 16)
    file.node.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

}  // namespace parallax
