// Turns DequantizeLinear, an operator, QuantizeLinear into an operator on bytes: convolutions and
// matrix products with integer kernels that quantise their results, movement of bytes, and tables
// for functions of one tensor of bytes. The remaining nodes are computed as real numbers.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "lower/cpu/byte_functions.h"
#include "lower/cpu/byte_products.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"
#include "ops/params/quantised.h"
#include "ops/params/resize.h"
#include "ops/params/window.h"
#include "ops/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Returns true for operators that return elements of one or all of their inputs unchanged.
bool moves_elements(const Node& node) {
  switch (node.op) {
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kSplit:
    case OpKind::kConcat:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kGather:
      return true;
    case OpKind::kMaxPool:
      return node.outputs.size() == 1;
    case OpKind::kResize: {
      const auto params = params_of<ResizeParams>(node);
      return params.mode == ResizeMode::kNearest && params.coordinates != ResizeCoordinates::kCrop;
    }
    default:
      return false;
  }
}

/// Rewrites the nodes of a graph in order.
class Clusters {
 public:
  Clusters(Graph& graph, const PassContext& context)
      : graph_(graph),
        context_(context),
        readers_(graph),
        functions_(graph, context),
        names_(graph),
        to_(graph.values.size()) {
    for (const ValueId id : graph.values.ids()) to_[id] = id;
  }

  int run() {
    for (const NodeId id : graph_.nodes.ids()) {
      if (quantises_to_bytes(graph_, graph_.nodes[id]) && replace(graph_.nodes[id])) {
        ++changes_;
      } else {
        append(graph_.nodes[id]);
      }
    }
    if (changes_ > 0) graph_.nodes = std::move(fresh_);
    return changes_;
  }

 private:
  void append(Node node) {
    for (ValueId& input : node.inputs)
      if (input.valid() && to_.contains(input)) input = to_[input];
    fresh_.push_back(std::move(node));
  }

  ValueId new_value(ValueId like, std::string_view suffix, DType dtype) {
    Value value;
    value.name = names_.make(graph_.values[like].name + std::string(suffix));
    value.dtype = dtype;
    value.shape = graph_.values[like].shape;
    return graph_.values.push_back(std::move(value));
  }

  bool replace(const Node& quantize) {
    const ValueId real = quantize.inputs[0];
    if (functions_.root(real).valid()) return write_table(quantize);
    const Value& value = graph_.values[real];
    if (value.kind != ValueKind::kResult) return false;
    const Node& maker = graph_.nodes[value.producer];
    if (moves_elements(maker)) return write_movement(quantize, maker);
    return write_product(quantize);
  }

  /// Writes a table look-up alone, or the bytes unchanged.
  bool write_table(const Node& quantize) {
    const ValueId bytes = quantize.outputs[0];
    const auto table = functions_.table(bytes);
    if (!table) return false;
    write_look_up(functions_.root(quantize.inputs[0]), bytes, *table, quantize.name);
    return true;
  }

  static bool is_identity(const Constant& table) {
    for (std::size_t i = 0; i < table.bytes.size(); ++i)
      if (table.bytes[i] != static_cast<std::byte>(i)) return false;
    return true;
  }

  void write_look_up(ValueId from, ValueId to, const Constant& table, const std::string& name) {
    Attributes attributes;
    set_param(attributes, &ByteTableParams::table, table);
    append({name, OpKind::kQuantizeLinear, std::move(attributes), {from}, {to}});
  }

  /// Returns the bytes that `quantize` would compute.
  ValueId requantised(const RealBytes& from, const Node& quantize) {
    const auto table = functions_.requantisation(from, quantize);
    if (!table) return {};
    if (is_identity(*table) && table->dtype == graph_.values[from.bytes].dtype) return from.bytes;
    const ValueId to = new_value(from.bytes, "/bytes", table->dtype);
    write_look_up(from.bytes, to, *table, names_.make(quantize.name + "/bytes"));
    return to;
  }

  /// Quantised first, then moved.
  bool write_movement(const Node& quantize, const Node& maker) {
    if (maker.outputs.size() > 1) return write_split(quantize, maker);
    Node moved = maker;
    const std::size_t operands = maker.op == OpKind::kConcat ? maker.inputs.size() : 1;
    std::vector<RealBytes> bytes;
    for (std::size_t i = 0; i < operands; ++i) {
      const auto real =
          maker.inputs[i].valid() ? real_bytes(graph_, maker.inputs[i]) : std::nullopt;
      if (!real) return false;
      bytes.push_back(*real);
    }
    for (std::size_t i = 0; i < operands; ++i) {
      moved.inputs[i] = requantised(bytes[i], quantize);
      if (!moved.inputs[i].valid()) return false;
    }
    moved.name = quantize.name;
    moved.outputs = quantize.outputs;
    append(std::move(moved));
    return true;
  }

  /// Moved by all quantisations of the parts together, then quantised.
  bool write_split(const Node& quantize, const Node& maker) {
    const auto real = real_bytes(graph_, maker.inputs[0]);
    if (!real) return false;
    const NodeId id = graph_.values[quantize.inputs[0]].producer;
    auto [parts, first] = splits_.try_emplace(id);
    const DType dtype = graph_.values[real->bytes].dtype;
    const auto table = functions_.requantisation(*real, quantize);
    if (!table) return false;
    if (first) {
      Node moved = maker;
      moved.name = names_.make(maker.name + "/bytes");
      moved.inputs[0] = real->bytes;
      for (ValueId& output : moved.outputs)
        if (output.valid()) output = new_value(output, "/bytes", dtype);
      parts->second = moved.outputs;
      append(std::move(moved));
    }
    const auto part = std::ranges::find(maker.outputs, quantize.inputs[0]) - maker.outputs.begin();
    const ValueId moved = parts->second[static_cast<std::size_t>(part)];
    const bool is_output = readers_.is_output(quantize.outputs[0]);
    if (!is_output && is_identity(*table) && table->dtype == dtype) {
      to_[quantize.outputs[0]] = moved;
    } else {
      write_look_up(moved, quantize.outputs[0], *table, quantize.name);
    }
    return true;
  }

  bool write_product(const Node& quantize) {
    const auto product = real_product(graph_, readers_, quantize.inputs[0]);
    if (!product) return false;
    const Node& node = *product->node;
    const bool convolves = node.op == OpKind::kConv;
    const auto x = real_bytes(graph_, node.inputs[0]);
    const auto w = byte_weights(graph_, names_, node);
    if (!x || !w || quantize.inputs.size() < 3 || !quantize.inputs[2].valid()) {
      context_.missed("an operand is not quantised as kernels of bytes want it", quantize);
      return false;
    }
    std::vector<ValueId> inputs(kProductInputs);
    inputs[kProductX] = x->bytes;
    inputs[kProductXZero] = x->zero;
    inputs[kProductXScale] = x->scale;
    inputs[kProductW] = w->bytes;
    inputs[kProductWZero] = w->zero;
    inputs[kProductWScale] = w->scale;
    inputs[kProductBias] = product->bias;
    inputs[kProductYScale] = quantize.inputs[1];
    inputs[kProductYZero] = quantize.inputs[2];
    append({quantize.name,
            convolves ? OpKind::kConvInteger : OpKind::kMatMulInteger,
            convolves ? node.attributes : Attributes{},
            std::move(inputs),
            quantize.outputs,
            {},
            0,
            product->epilogue});
    return true;
  }

  Graph& graph_;
  const PassContext& context_;
  const Readers readers_;
  const ByteFunctions functions_;
  UniqueNames names_;
  IdVector<ValueId, ValueId> to_;  ///< replacement of each value
  IdVector<NodeId, Node> fresh_;
  std::map<NodeId, std::vector<ValueId>> splits_;  ///< parts of bytes
  int changes_ = 0;
};

}  // namespace

Result<int> integer_clusters(Graph& graph, const PassContext& context) {
  const int changes = Clusters(graph, context).run();
  if (changes == 0) return 0;
  erase_unused(graph);
  PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes;
}

}  // namespace parallax
