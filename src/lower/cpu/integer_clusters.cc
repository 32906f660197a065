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

/// Returns a tensor of bytes with its axes in the order of `perm`, which has as many.
Constant turned(const Constant& x, std::span<const std::int64_t> perm) {
  const auto rank = perm.size();
  std::vector<std::int64_t> dims(rank), strides(rank, 1), at(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    dims[i] = x.dims[static_cast<int>(perm[i])];
    for (int axis = static_cast<int>(perm[i]) + 1; axis < x.dims.rank(); ++axis)
      strides[i] *= x.dims[axis];
  }
  std::vector<std::byte> bytes(x.bytes.size());
  std::int64_t from = 0;
  for (std::byte& byte : bytes) {
    byte = x.bytes[static_cast<std::size_t>(from)];
    for (std::size_t i = rank; i-- > 0;) {
      from += strides[i];
      if (++at[i] < dims[i]) break;
      from -= strides[i] * dims[i];
      at[i] = 0;
    }
  }
  return make_constant(x.dtype, Dims(dims), bytes);
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
  /// Returns the node that computes `value`, if it has no other reader; otherwise null.
  const Node* sole_maker(ValueId value) const {
    const Value& v = graph_.values[value];
    if (v.kind != ValueKind::kResult || !readers_.single(value)) return nullptr;
    return &graph_.nodes[v.producer];
  }

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

  /// Weights of 8 bits with a scale for all, or one for each index along `axis`.
  struct Weights {
    ValueId bytes, scale, zero;
  };
  std::optional<Weights> weights_of(ValueId real, std::int64_t axis) {
    // TFLite's filters are turned behind DequantizeLinear.
    const Node* turn = produced_by(graph_, real, OpKind::kTranspose);
    std::vector<std::int64_t> perm;
    if (turn != nullptr) {
      perm = turn->attributes.get_ints("perm");
      real = turn->inputs[0];
      if (std::ssize(perm) <= axis) return std::nullopt;
      axis = perm[static_cast<std::size_t>(axis)];
    }
    const Node* node = produced_by(graph_, real, OpKind::kDequantizeLinear);
    if (node == nullptr) return std::nullopt;
    const auto params = params_of<DequantizeLinearParams>(*node);
    if (params.block_size != 0) return std::nullopt;
    Weights weights{node->inputs[0], node->inputs[1],
                    node->inputs.size() > 2 ? node->inputs[2] : ValueId{}};
    const auto& constant = graph_.values[weights.bytes].constant;
    const Constant* scale = float_constant(graph_, weights.scale);
    if (!constant || scale == nullptr || !contains(kByteIntegers, constant->dtype))
      return std::nullopt;
    const std::int64_t rank = constant->dims.rank();
    std::int64_t stated = params.axis;
    if (stated < 0) stated += rank;
    if (scale->dims.elements() != 1 && (stated != axis || scale->dims.rank() != 1))
      return std::nullopt;
    if (!zeros_vanish(*constant, weights.zero)) return std::nullopt;
    if (turn == nullptr) return weights;
    if (std::ssize(perm) != rank) return std::nullopt;
    std::string name = names_.make(graph_.values[weights.bytes].name + "/turned");
    Constant bytes = turned(*constant, perm);
    weights.bytes = graph_.values.push_back(constant_value(std::move(name), std::move(bytes)));
    return weights;
  }

  /// Kernels need weights that are signed around 0.
  bool zeros_vanish(const Constant& weights, ValueId zero) const {
    const std::byte none = weights.dtype == DType::kI8 ? std::byte{0} : std::byte{128};
    if (!zero.valid()) return weights.dtype == DType::kI8;
    const auto& constant = graph_.values[zero].constant;
    return constant && std::ranges::all_of(constant->bytes, [&](std::byte b) { return b == none; });
  }

  /// A convolution or matrix product, its bias and its activation.
  struct Product {
    const Node* node = nullptr;
    ValueId bias;
    Epilogue epilogue;
  };
  std::optional<Product> product_of(ValueId real) const {
    Product product;
    const Node* maker = sole_maker(real);
    if (maker != nullptr && maker->op == OpKind::kRelu) {
      product.epilogue.activation.op = OpKind::kRelu;
      maker = sole_maker(maker->inputs[0]);
    } else if (maker != nullptr && maker->op == OpKind::kClip) {
      const auto activation = clip_of(*maker);
      if (!activation) return std::nullopt;
      product.epilogue.activation = *activation;
      maker = sole_maker(maker->inputs[0]);
    }
    if (maker != nullptr && maker->op == OpKind::kAdd) {
      const bool first = is_bias(maker->inputs[0], real);
      if (!first && !is_bias(maker->inputs[1], real)) return std::nullopt;
      product.bias = maker->inputs[first ? 0 : 1];
      maker = sole_maker(maker->inputs[first ? 1 : 0]);
      if (maker == nullptr || maker->op != OpKind::kMatMul) return std::nullopt;
    }
    if (maker == nullptr || !maker->epilogue.empty()) return std::nullopt;
    if (maker->op == OpKind::kConv && maker->inputs.size() > 2) product.bias = maker->inputs[2];
    if (maker->op == OpKind::kMatMul && maker->inputs.size() > 2) return std::nullopt;
    product.node = maker;
    return product;
  }

  /// Returns whether `value` is an f32 for each column of `result`, known or dequantised.
  bool is_bias(ValueId value, ValueId result) const {
    const Shape& shape = graph_.values[value].shape;
    const Shape& whole = graph_.values[result].shape;
    const bool known = graph_.values[value].constant ||
                       produced_by(graph_, value, OpKind::kDequantizeLinear) != nullptr;
    return known && shape.size() == 1 && !whole.empty() && shape[0].constant() &&
           shape[0] == whole.back();
  }

  std::optional<Activation> clip_of(const Node& clip) const {
    Activation activation{.op = OpKind::kClip};
    for (const std::size_t i : {1U, 2U}) {
      if (clip.inputs.size() <= i || !clip.inputs[i].valid()) continue;
      const auto number = scalar_constant(graph_, clip.inputs[i]);
      if (!number || *number != *number) return std::nullopt;
      (i == 1 ? activation.low : activation.high) = *number;
    }
    return activation;
  }

  /// Shapes that the integer kernels have: of convolutions images with one group.
  bool kernels_have(const Node& product) const {
    const bool convolves = product.op == OpKind::kConv;
    if (!convolves && product.op != OpKind::kMatMul) return false;
    const Shape& w = graph_.values[product.inputs[1]].shape;
    if (!convolves) return w.size() == 2 && product.attributes.empty();
    return w.size() == 4 && groups_of(product) == 1;
  }

  bool write_product(const Node& quantize) {
    const auto product = product_of(quantize.inputs[0]);
    if (!product || !kernels_have(*product->node)) return false;
    const Node& node = *product->node;
    const bool convolves = node.op == OpKind::kConv;
    const auto x = real_bytes(graph_, node.inputs[0]);
    const auto w = weights_of(node.inputs[1], convolves ? 0 : 1);
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
            node.attributes,
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

/// Returns the table in which `node` looks bytes up; nullopt if it is not such a node.
std::optional<Constant> look_up_of(const Node& node) {
  return node.op == OpKind::kQuantizeLinear ? byte_table(node) : std::nullopt;
}

}  // namespace

Result<int> integer_clusters(Graph& graph, const PassContext& context) {
  if (std::ranges::none_of(graph.nodes,
                           [](const Node& node) { return node.op == OpKind::kQuantizeLinear; }))
    return 0;
  const int changes = Clusters(graph, context).run();
  if (changes == 0) return 0;
  erase_unused(graph);
  PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes;
}

Result<int> fuse_byte_tables(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const std::optional<Constant> table = look_up_of(graph.nodes[id]);
    if (!table || !readers.single(graph.nodes[id].inputs[0])) continue;
    const Value& bytes = graph.values[graph.nodes[id].inputs[0]];
    if (bytes.kind != ValueKind::kResult) continue;
    const Node& maker = graph.nodes[bytes.producer];
    const bool product = maker.op == OpKind::kConvInteger || maker.op == OpKind::kMatMulInteger;
    if (!product || !is_requantised(maker) || has_byte_table(maker)) continue;
    Attributes attributes = maker.attributes;
    set_param(attributes, &ByteTableParams::table, *table);
    rewrite_node(graph, id, maker.op, maker.inputs, std::move(attributes), maker.epilogue);
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
