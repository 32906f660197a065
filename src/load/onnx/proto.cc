#include "load/onnx/proto.h"

#include <fmt/core.h>

#include "base/status.h"
#include "load/onnx/names.h"
#include "load/onnx/wire.h"
#include "parallax/tensor.h"

namespace parallax {
namespace {

Result<OnnxEntry> parse_entry(std::string_view bytes) {
  OnnxEntry entry;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        entry.key = get_bytes(field);
        return {};
      case 2:
        entry.value = get_bytes(field);
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("external data entry", bytes, read));
  return entry;
}

Status parse_attribute(std::string_view bytes, OnnxAttribute& attribute) {
  std::int64_t type = 0;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(attribute.name, get_name(field, "an attribute"));
        return {};
      }
      case 2:
        attribute.f = get_float(field);
        return {};
      case 3:
        attribute.i = get_int(field);
        return {};
      case 4:
        attribute.s = get_bytes(field);
        return {};
      case 5:
        return set_once(attribute.tensor, get_bytes(field), "tensor of an attribute");
      case 6:
      case 11:
        attribute.graphs.push_back(get_bytes(field));
        return {};
      case 7:
        append_floats(attribute.floats, field);
        return {};
      case 8:
        append_ints(attribute.ints, get_run(field, pbf_wire_type::varint));
        return {};
      case 20:
        type = get_int(field);
        return {};
      case 21:
        attribute.is_reference = !get_bytes(field).empty();
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("attribute", bytes, read));
  if (attribute.name.empty()) return invalid_model("an attribute has no name");
  if (type < 1 || type > static_cast<std::int64_t>(OnnxAttributeType::kTypeProtos)) {
    return invalid_model(
        fmt::format("attribute {} has the unknown type {}", quote(attribute.name), type));
  }
  attribute.type = static_cast<OnnxAttributeType>(type);
  return {};
}

Status parse_node(std::string_view bytes, OnnxNode& node) {
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(const std::string_view name, get_name(field, "a node's input"));
        node.inputs.push_back({name});
        return {};
      }
      case 2: {
        PX_ASSIGN(const std::string_view name, get_name(field, "a node's output"));
        node.outputs.push_back({name});
        return {};
      }
      case 3: {
        PX_ASSIGN(node.name, get_name(field, "a node"));
        return {};
      }
      case 4: {
        PX_ASSIGN(node.op_type, get_name(field, "an operator"));
        return {};
      }
      case 5:
        return parse_attribute(get_bytes(field), node.attributes.emplace_back());
      case 7: {
        PX_ASSIGN(node.domain, get_name(field, "a domain"));
        return {};
      }
      default:
        return skip_field(field);
    }
  };
  auto status = read_message("node", bytes, read);
  if (!status) {
    status.error().node = node.name;
    return tl::unexpected(std::move(status).error());
  }
  if (node.op_type.empty()) return invalid_model("a node has no operator", node.name);
  return {};
}

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

Status parse_type(std::string_view bytes, OnnxValueInfo& info) {
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
  auto read = [&](pbf_reader& field) -> Status {
    if (field.tag() != 1) return skip_field(field);
    if (info.is_tensor) return invalid_model("the type of a value occurs twice");
    info.is_tensor = true;
    return read_message("tensor type", get_bytes(field), read_tensor);
  };
  return read_message("type", bytes, read);
}

Result<OnnxValueInfo> parse_value_info(std::string_view bytes) {
  OnnxValueInfo info;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(info.name, get_name(field, "an input or output"));
        return {};
      }
      case 2:
        info.has_type = true;
        return parse_type(get_bytes(field), info);
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("input or output", bytes, read));
  if (info.name.empty()) return invalid_model("an input or output of the graph has no name");
  return info;
}

Result<OnnxOpset> parse_opset(std::string_view bytes) {
  OnnxOpset opset;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(opset.domain, get_name(field, "a domain"));
        return {};
      }
      case 2:
        opset.version = get_int(field);
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("operator set", bytes, read));
  if (opset.domain == "ai.onnx") opset.domain = "";
  return opset;
}

/// Counts first: moving thousands of nodes to larger memory again and again takes longer.
Status reserve(OnnxGraph& graph, std::string_view bytes) {
  std::size_t nodes = 0, initializers = 0;
  auto count = [&](pbf_reader& field) -> Status {
    nodes += field.tag() == 1 ? 1 : 0;
    initializers += field.tag() == 5 ? 1 : 0;
    return skip_field(field);
  };
  PX_RETURN_IF_ERROR(read_message("graph", bytes, count));
  // Nodes of a few bytes each are no model, and would take many times the file's size.
  constexpr std::size_t kAlwaysFine = std::size_t{32} << 20;
  const std::size_t room = nodes * sizeof(OnnxNode) + initializers * sizeof(OnnxTensor);
  if (room > kAlwaysFine && room / 8 > bytes.size()) {
    return unsupported(fmt::format("{} nodes and {} initializers are too many for {} bytes", nodes,
                                   initializers, bytes.size()));
  }
  graph.nodes.reserve(nodes);
  graph.initializers.reserve(initializers);
  return {};
}

}  // namespace

Result<OnnxTensor> parse_onnx_tensor(std::string_view bytes) {
  OnnxTensor tensor;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        append_ints(tensor.dims, get_run(field, pbf_wire_type::varint));
        return {};
      case 2:
        tensor.data_type = get_int(field);
        return {};
      case 3:
        tensor.segment = true;
        return skip_field(field);
      case 4:
        tensor.float_data.push_back(get_run(field, pbf_wire_type::fixed32));
        return {};
      case 5:
        tensor.int32_data.push_back(get_run(field, pbf_wire_type::varint));
        return {};
      case 7:
        tensor.int64_data.push_back(get_run(field, pbf_wire_type::varint));
        return {};
      case 6:
      case 10:
      case 11:
        tensor.other_data = true;
        return skip_field(field);
      case 8: {
        PX_ASSIGN(tensor.name, get_name(field, "a tensor"));
        return {};
      }
      case 9:
        tensor.raw_data = get_bytes(field);
        return {};
      case 13: {
        PX_ASSIGN(const OnnxEntry entry, parse_entry(get_bytes(field)));
        tensor.external_data.push_back(entry);
        return {};
      }
      case 14:
        tensor.data_location = get_int(field);
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("tensor", bytes, read));
  if (tensor.dims.size() > Dims::kMaxRank) {
    return unsupported(fmt::format("tensor {} has {} dimensions, at most {} are supported",
                                   quote(tensor.name), tensor.dims.size(), Dims::kMaxRank));
  }
  return tensor;
}

Result<OnnxGraph> parse_onnx_graph(std::string_view bytes) {
  OnnxGraph graph;
  PX_RETURN_IF_ERROR(reserve(graph, bytes));
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        return parse_node(get_bytes(field), graph.nodes.emplace_back());
      case 2: {
        PX_ASSIGN(graph.name, get_name(field, "a graph"));
        return {};
      }
      case 5: {
        PX_ASSIGN(OnnxTensor tensor, parse_onnx_tensor(get_bytes(field)));
        if (tensor.name.empty()) return invalid_model("an initializer has no name");
        graph.initializers.push_back(std::move(tensor));
        return {};
      }
      case 11: {
        PX_ASSIGN(OnnxValueInfo info, parse_value_info(get_bytes(field)));
        graph.inputs.push_back(std::move(info));
        return {};
      }
      case 12: {
        PX_ASSIGN(OnnxValueInfo info, parse_value_info(get_bytes(field)));
        graph.outputs.push_back(std::move(info));
        return {};
      }
      case 15:
        graph.has_sparse_initializers = true;
        return skip_field(field);
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("graph", bytes, read));
  return graph;
}

Result<OnnxModel> parse_onnx_model(std::string_view bytes) {
  OnnxModel model;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        model.ir_version = get_int(field);
        return {};
      case 7:
        return set_once(model.graph, get_bytes(field), "graph");
      case 8: {
        PX_ASSIGN(const OnnxOpset opset, parse_opset(get_bytes(field)));
        model.opsets.push_back(opset);
        return {};
      }
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("ONNX model", bytes, read));
  return model;
}

}  // namespace parallax
