// A case as an ONNX file.
#include "case.h"
#include "load/onnx_test_util.h"
#include "opsets.h"

namespace parallax::fuzz {
namespace {

int onnx_code(DType dtype) { return info_of(dtype).onnx; }

std::string tensor_of(const std::string& name, const Constant& constant) {
  const Ints dims(constant.dims.begin(), constant.dims.end());
  const auto* data = reinterpret_cast<const char*>(constant.bytes.data());
  return raw_tensor(name, onnx_code(constant.dtype), dims,
                    std::string(data, constant.bytes.size()));
}

/// A value whose shape is left open.
std::string typed_value(const std::string& name, DType dtype) {
  const std::string tensor =
      message([&](protozero::pbf_writer& w) { w.add_int32(1, onnx_code(dtype)); });
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, name);
    w.add_message(2, message([&](protozero::pbf_writer& t) { t.add_message(1, tensor); }));
  });
}

class Writer {
 public:
  explicit Writer(const Case& fuzzed) : fuzzed_(fuzzed) {}

  std::string graph(const CaseGraph& graph, bool body) const {
    TestGraph bytes;
    for (const CaseNode& node : graph.nodes) bytes.nodes.push_back(node_of(node));
    for (const auto& [name, constant] : graph.constants)
      bytes.initializers.push_back(tensor_of(name, constant));
    for (const CaseInput& input : graph.inputs) {
      bytes.inputs.push_back(body ? open_value(input.name)
                                  : value_info(input.name, onnx_code(input.dtype), input.dims));
    }
    // ONNX Runtime wants to know the ranks of what bodies take and give.
    for (const std::string& output : graph.outputs) {
      bytes.outputs.push_back(body ? open_value(output)
                                   : typed_value(output, fuzzed_.dtypes.at(output)));
    }
    return bytes.bytes();
  }

 private:
  /// A value of which the rank is known.
  std::string open_value(const std::string& name) const {
    return value_info(name, onnx_code(fuzzed_.dtypes.at(name)),
                      std::vector<CaseDim>(static_cast<std::size_t>(fuzzed_.ranks.at(name))));
  }

  std::string node_of(const CaseNode& file_node) const {
    Names attributes;
    for (const auto& [name, value] : file_node.attributes) {
      attributes.push_back(std::visit(
          [&n = name](const auto& v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, Constant>) return tensor_attribute(n, tensor_of("", v));
            if constexpr (std::is_same_v<T, std::string>) return attribute(n, v.c_str());
            if constexpr (!std::is_same_v<T, Constant> && !std::is_same_v<T, std::string>)
              return attribute(n, v);
          },
          value));
    }
    const bool branches = file_node.op == OpKind::kIf;
    for (std::size_t i = 0; i < file_node.bodies.size(); ++i) {
      const char* name = !branches ? "body" : (i == 0 ? "then_branch" : "else_branch");
      attributes.push_back(graph_attribute(name, graph(file_node.bodies[i], true)));
    }
    const std::string_view name =
        file_node.spelling.empty() ? to_string(file_node.op) : file_node.spelling;
    return node(name, file_node.inputs, file_node.outputs, attributes, {}, domain_of(file_node.op));
  }

  const Case& fuzzed_;
};

}  // namespace

std::string onnx_bytes(const Case& fuzzed) {
  CaseGraph graph = fuzzed.graph;
  write_for_opset(graph, fuzzed.opset);
  if (fuzzed.qlinear) write_qlinear(graph);
  remove_dead(graph);
  const std::string bytes = Writer(fuzzed).graph(graph, false);
  return message([&](protozero::pbf_writer& w) {
    w.add_int64(1, 8);
    w.add_string(2, "px_fuzz");
    w.add_message(7, bytes);
    w.add_message(8, opset_import(fuzzed.opset));
    w.add_message(8, opset_import(1, "com.microsoft"));
  });
}

}  // namespace parallax::fuzz
