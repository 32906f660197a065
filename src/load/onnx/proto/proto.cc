// Graphs, nodes, functions and models.
#include "load/onnx/proto/proto.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/proto/wire.h"
#include "parallax/model.h"

namespace parallax {
namespace {

/// "" for ai.onnx, which has two names.
Result<std::string_view> get_domain(pbf_reader& field) {
  PX_ASSIGN(const std::string_view domain, get_name(field, "a domain"));
  return domain == "ai.onnx" ? std::string_view() : domain;
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
      case 9:
        attribute.strings.push_back(get_bytes(field));
        return {};
      case 14:
        return set_once(attribute.type_proto, get_bytes(field), "type of an attribute");
      case 20:
        type = get_int(field);
        return {};
      case 21: {
        PX_ASSIGN(attribute.reference, get_name(field, "an attribute"));
        return {};
      }
      case 22:
        return set_once(attribute.sparse_tensor, get_bytes(field), "tensor of an attribute");
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
        if (node.inputs.empty()) node.inputs.reserve(2);  // most nodes have one or two
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
        PX_ASSIGN(node.domain, get_domain(field));
        return {};
      }
      case 8: {
        PX_ASSIGN(node.overload, get_name(field, "an overload"));
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

Result<OnnxOpset> parse_opset(std::string_view bytes) {
  OnnxOpset opset;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(opset.domain, get_domain(field));
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
  return opset;
}

/// Appends what a model or a function imports, of which there are few: each node looks it up.
Status add_opset(std::vector<OnnxOpset>& opsets, std::string_view bytes) {
  constexpr std::size_t kMax = 256;
  if (opsets.size() == kMax) return unsupported("too many operator sets are imported");
  PX_ASSIGN(const OnnxOpset opset, parse_opset(bytes));
  opsets.push_back(opset);
  return {};
}

/// The fields of a graph that hold nodes and initializers.
struct NodeTags {
  protozero::pbf_tag_type node = 1, initializer = 5, sparse = 15;
};

/// Counts first: moving thousands of nodes to larger memory again and again takes longer.
Status reserve(OnnxGraph& graph, std::string_view bytes, NodeTags tags = {}) {
  std::size_t nodes = 0, initializers = 0, sparse = 0;
  auto count = [&](pbf_reader& field) -> Status {
    nodes += field.tag() == tags.node ? 1 : 0;
    initializers += field.tag() == tags.initializer ? 1 : 0;
    sparse += field.tag() == tags.sparse ? 1 : 0;
    return skip_field(field);
  };
  PX_RETURN_IF_ERROR(read_message("graph", bytes, count));
  // Nodes of a few bytes each are no model, and would take many times the file's size.
  constexpr std::size_t kAlwaysFine = std::size_t{32} << 20;
  const std::size_t room = nodes * sizeof(OnnxNode) + initializers * sizeof(OnnxTensor) +
                           sparse * sizeof(OnnxSparseTensor);
  if (room > kAlwaysFine && room / 8 > bytes.size()) {
    return unsupported(fmt::format("{} nodes and {} initializers are too many for {} bytes", nodes,
                                   initializers + sparse, bytes.size()));
  }
  graph.nodes.reserve(nodes);
  graph.initializers.reserve(initializers);
  return {};
}

}  // namespace

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
        PX_ASSIGN(OnnxValueInfo info, parse_onnx_value_info(get_bytes(field)));
        graph.inputs.push_back(std::move(info));
        return {};
      }
      case 12: {
        PX_ASSIGN(OnnxValueInfo info, parse_onnx_value_info(get_bytes(field)));
        graph.outputs.push_back(std::move(info));
        return {};
      }
      case 15: {
        PX_ASSIGN(OnnxSparseTensor tensor, parse_onnx_sparse_tensor(get_bytes(field)));
        if (tensor.values.name.empty()) return invalid_model("an initializer has no name");
        graph.sparse_initializers.push_back(std::move(tensor));
        return {};
      }
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("graph", bytes, read));
  return graph;
}

namespace {

/// A name of a list of them.
Status add_name(std::vector<std::string_view>& names, pbf_reader& field, std::string_view what) {
  PX_ASSIGN(const std::string_view name, get_name(field, what));
  names.push_back(name);
  return {};
}

Status read_function_field(OnnxFunction& function, pbf_reader& field) {
  switch (field.tag()) {
    case 1: {
      PX_ASSIGN(function.name, get_name(field, "a function"));
      return {};
    }
    case 4:
      return add_name(function.inputs, field, "an input of a function");
    case 5:
      return add_name(function.outputs, field, "an output of a function");
    case 6:
      return add_name(function.attributes, field, "an attribute of a function");
    case 7:
      return parse_node(get_bytes(field), function.body.nodes.emplace_back());
    case 9:
      return add_opset(function.opsets, get_bytes(field));
    case 10: {
      PX_ASSIGN(function.domain, get_domain(field));
      return {};
    }
    case 11:
      return parse_attribute(get_bytes(field), function.defaults.emplace_back());
    case 13: {
      PX_ASSIGN(function.overload, get_name(field, "an overload"));
      return {};
    }
    default:
      return skip_field(field);
  }
}

}  // namespace

Result<OnnxFunction> parse_onnx_function(std::string_view bytes) {
  OnnxFunction function;
  constexpr NodeTags kFunction = {.node = 7, .initializer = 0, .sparse = 0};
  PX_RETURN_IF_ERROR(reserve(function.body, bytes, kFunction));
  auto read = [&](pbf_reader& field) { return read_function_field(function, field); };
  PX_RETURN_IF_ERROR(read_message("function", bytes, read));
  return function;
}

namespace {

/// Counts those that are more than ModelMetadata may have: they are many times the file's size.
Status add_property(OnnxModel& model, std::string_view bytes) {
  if (std::ssize(model.properties) == ModelMetadata::kMaxProperties) {
    ++model.further_properties;
    return {};
  }
  PX_ASSIGN(const OnnxEntry entry, parse_onnx_entry(bytes, "metadata property"));
  model.properties.push_back(entry);
  return {};
}

}  // namespace

Result<OnnxModel> parse_onnx_model(std::string_view bytes) {
  OnnxModel model;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        model.ir_version = get_int(field);
        return {};
      case 2:
        model.producer_name = get_bytes(field);
        return {};
      case 3:
        model.producer_version = get_bytes(field);
        return {};
      case 4:
        model.domain = get_bytes(field);
        return {};
      case 5:
        model.model_version = get_int(field);
        return {};
      case 6:
        model.doc_string = get_bytes(field);
        return {};
      case 7:
        return set_once(model.graph, get_bytes(field), "graph");
      case 8:
        return add_opset(model.opsets, get_bytes(field));
      case 14:
        return add_property(model, get_bytes(field));
      case 25:
        model.functions.push_back(get_bytes(field));
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("ONNX model", bytes, read));
  return model;
}

}  // namespace parallax
