// Types and shapes of inputs and outputs.
#include <optional>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/proto/proto.h"
#include "load/onnx/proto/wire.h"

namespace parallax {
namespace {

/// Types inside of types that are read.
constexpr std::size_t kMaxTypes = 16;

Result<OnnxDimension> parse_dimension(std::string_view bytes) {
  OnnxDimension dimension;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        dimension.value = get_int(field);
        return {};
      case 2: {
        PX_ASSIGN(dimension.param, get_name(field, "a dimension"));
        return {};
      }
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("dimension", bytes, read));
  return dimension;
}

Result<std::vector<OnnxDimension>> parse_shape(std::string_view bytes) {
  std::vector<OnnxDimension> dims;
  auto read = [&](pbf_reader& field) -> Status {
    if (field.tag() != 1) return skip_field(field);
    PX_ASSIGN(const OnnxDimension dimension, parse_dimension(get_bytes(field)));
    dims.push_back(dimension);
    return {};
  };
  PX_RETURN_IF_ERROR(read_message("shape", bytes, read));
  return dims;
}

}  // namespace

Status parse_onnx_type(std::string_view bytes, OnnxValueInfo& info) {
  auto read_tensor = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        info.element_type = get_int(field);
        return {};
      case 2: {
        PX_ASSIGN(info.shape, parse_shape(get_bytes(field)));
        return {};
      }
      default:
        return skip_field(field);
    }
  };
  // The inside of a container, one level after the other.
  std::optional<std::string_view> inside = bytes;
  auto read_inside = [&](pbf_reader& field) -> Status {
    const bool of_map = info.containers.back() == ObjectType::kMap;
    if (of_map && field.tag() == 1) {
      info.key_type = get_int(field);
      return {};
    }
    if (field.tag() == (of_map ? 2U : 1U)) return set_once(inside, get_bytes(field), "inner type");
    return skip_field(field);
  };
  auto read = [&](pbf_reader& field) -> Status {
    const auto tag = field.tag();
    if (tag != 1 && tag != 4 && tag != 5 && tag != 9) return skip_field(field);
    if (info.is_tensor || inside) return invalid_model("the type of a value occurs twice");
    if (tag == 1) {
      info.is_tensor = true;
      return read_message("tensor type", get_bytes(field), read_tensor);
    }
    if (info.containers.size() == kMaxTypes) return unsupported("types are nested too deeply");
    info.containers.push_back(tag == 4   ? ObjectType::kSequence
                              : tag == 5 ? ObjectType::kMap
                                         : ObjectType::kOptional);
    return read_message("type", get_bytes(field), read_inside);
  };
  while (inside) {
    const std::string_view level = *std::exchange(inside, std::nullopt);
    PX_RETURN_IF_ERROR(read_message("type", level, read));
  }
  return {};
}

Result<OnnxValueInfo> parse_onnx_value_info(std::string_view bytes) {
  OnnxValueInfo info;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(info.name, get_name(field, "an input or output"));
        return {};
      }
      case 2: {
        const std::string_view type = get_bytes(field);
        info.has_type = !type.empty();  // exporters write types that say nothing
        return parse_onnx_type(type, info);
      }
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("input or output", bytes, read));
  if (info.name.empty()) return invalid_model("an input or output of the graph has no name");
  return info;
}

}  // namespace parallax
