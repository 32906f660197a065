#include "lower/cpu/byte_products.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/params/matmul.h"
#include "ops/params/quantised.h"
#include "ops/params/window.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

/// Returns the node that computes `value`, if it has no other reader; otherwise null.
const Node* sole_maker(const Graph& graph, const Readers& readers, ValueId value) {
  const Value& v = graph.values[value];
  if (v.kind != ValueKind::kResult || !readers.single(value)) return nullptr;
  return &graph.nodes[v.producer];
}

/// Returns whether `value` is an f32 for each column of `result`, known or dequantised.
bool is_bias(const Graph& graph, ValueId value, ValueId result) {
  const Shape& shape = graph.values[value].shape;
  const Shape& whole = graph.values[result].shape;
  const bool known = graph.values[value].constant ||
                     produced_by(graph, value, OpKind::kDequantizeLinear) != nullptr;
  return known && shape.size() == 1 && !whole.empty() && shape[0].constant() &&
         shape[0] == whole.back();
}

std::optional<Activation> clip_of(const Graph& graph, const Node& clip) {
  Activation activation{.op = OpKind::kClip};
  for (const std::size_t i : {1U, 2U}) {
    if (clip.inputs.size() <= i || !clip.inputs[i].valid()) continue;
    const auto number = scalar_constant(graph, clip.inputs[i]);
    if (!number || *number != *number) return std::nullopt;
    (i == 1 ? activation.low : activation.high) = *number;
  }
  return activation;
}

/// Returns whether there are kernels for filters [M, C / groups, H, W]: one for each channel, with
/// few taps, or groups of some channels.
bool kernels_have_groups(const Shape& w, std::int64_t groups) {
  const auto channels = w[1].constant(), taps = (w[2] * w[3]).constant();
  if (!channels || !taps) return false;
  if (groups == 1 || *channels >= kFewestByteGroupChannels) return true;
  return w[0] == Expr(groups) && *channels == 1 && *taps <= kMaxByteDepthwiseTaps;
}

/// Shapes that the integer kernels have: of convolutions images.
bool kernels_have(const Graph& graph, const Node& product) {
  if (product.op == OpKind::kGemm) {
    const auto params = params_of<GemmParams>(product);
    return params.alpha == 1 && params.beta == 1 && !params.trans_a;
  }
  if (product.op != OpKind::kMatMul && product.op != OpKind::kConv) return false;
  const Shape& w = graph.values[product.inputs[1]].shape;
  if (product.op == OpKind::kMatMul) return w.size() == 2 && product.attributes.empty();
  return w.size() == 4 && kernels_have_groups(w, groups_of(product));
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

/// Kernels need weights that are signed around 0.
bool zeros_vanish(const Graph& graph, const Constant& weights, ValueId zero) {
  const std::byte none = weights.dtype == DType::kI8 ? std::byte{0} : std::byte{128};
  if (!zero.valid()) return weights.dtype == DType::kI8;
  const auto& constant = graph.values[zero].constant;
  return constant && std::ranges::all_of(constant->bytes, [&](std::byte b) { return b == none; });
}

}  // namespace

std::optional<RealProduct> real_product(const Graph& graph, const Readers& readers, ValueId real) {
  RealProduct product;
  const Node* maker = sole_maker(graph, readers, real);
  if (maker != nullptr && maker->op == OpKind::kRelu) {
    product.epilogue.activation.op = OpKind::kRelu;
    maker = sole_maker(graph, readers, maker->inputs[0]);
  } else if (maker != nullptr && maker->op == OpKind::kClip) {
    const auto activation = clip_of(graph, *maker);
    if (!activation) return std::nullopt;
    product.epilogue.activation = *activation;
    maker = sole_maker(graph, readers, maker->inputs[0]);
  }
  if (maker != nullptr && maker->op == OpKind::kAdd) {
    const bool first = is_bias(graph, maker->inputs[0], real);
    if (!first && !is_bias(graph, maker->inputs[1], real)) return std::nullopt;
    product.bias = maker->inputs[first ? 0 : 1];
    maker = sole_maker(graph, readers, maker->inputs[first ? 1 : 0]);
    if (maker == nullptr || maker->op != OpKind::kMatMul) return std::nullopt;
  }
  if (maker == nullptr || !maker->epilogue.empty()) return std::nullopt;
  if (maker->op == OpKind::kConv && maker->inputs.size() > 2) product.bias = maker->inputs[2];
  if (maker->op == OpKind::kMatMul && maker->inputs.size() > 2) return std::nullopt;
  if (maker->op == OpKind::kGemm && maker->inputs.size() > 2 && maker->inputs[2].valid()) {
    product.bias = maker->inputs[2];
    if (!is_bias(graph, product.bias, maker->outputs[0])) return std::nullopt;
  }
  if (!kernels_have(graph, *maker)) return std::nullopt;
  product.node = maker;
  return product;
}

std::optional<ByteWeights> byte_weights(Graph& graph, UniqueNames& names, const Node& product) {
  ValueId real = product.inputs[1];
  std::int64_t axis = product.op == OpKind::kConv ? 0 : 1;
  std::vector<std::int64_t> perm;
  if (product.op == OpKind::kGemm && params_of<GemmParams>(product).trans_b) {
    perm = {1, 0};
  } else if (const Node* turn = produced_by(graph, real, OpKind::kTranspose); turn != nullptr) {
    // TFLite's filters are turned behind DequantizeLinear.
    perm = turn->attributes.get_ints("perm");
    real = turn->inputs[0];
    if (std::ssize(perm) <= axis) return std::nullopt;
  }
  if (!perm.empty()) axis = perm[static_cast<std::size_t>(axis)];
  const Node* node = produced_by(graph, real, OpKind::kDequantizeLinear);
  if (node == nullptr) return std::nullopt;
  const auto params = params_of<DequantizeLinearParams>(*node);
  if (params.block_size != 0) return std::nullopt;
  ByteWeights weights{node->inputs[0], node->inputs[1],
                      node->inputs.size() > 2 ? node->inputs[2] : ValueId{}};
  const auto& constant = graph.values[weights.bytes].constant;
  const Constant* scale = float_constant(graph, weights.scale);
  if (!constant || scale == nullptr || !contains(kByteIntegers, constant->dtype))
    return std::nullopt;
  const std::int64_t rank = constant->dims.rank();
  std::int64_t stated = params.axis;
  if (stated < 0) stated += rank;
  if (scale->dims.elements() != 1 && (stated != axis || scale->dims.rank() != 1))
    return std::nullopt;
  if (!zeros_vanish(graph, *constant, weights.zero)) return std::nullopt;
  if (perm.empty()) return weights;
  if (std::ssize(perm) != rank) return std::nullopt;
  std::string name = names.make(graph.values[weights.bytes].name + "/turned");
  Constant bytes = turned(*constant, perm);
  weights.bytes = graph.values.push_back(constant_value(std::move(name), std::move(bytes)));
  return weights;
}

}  // namespace parallax
