// For tests of decompositions: a maker of random nodes for each fused operator and spelling.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/activation.h"
#include "ops/params/fused_attention.h"
#include "ops/params/matmul.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"
#include "session/chain_maker_test_util.h"
#include "session/node_maker_test_util.h"

namespace parallax::node_makers {

inline void make_product(Maker& m) {
  const std::int64_t k = m.dim(40), n = m.dim(40);
  const auto product = m.one_of({OpKind::kConv, OpKind::kMatMul, OpKind::kGemm});
  if (product == OpKind::kConv) {
    const std::int64_t group = m.one_of<std::int64_t>({1, 1, 2}), channels = 1 + m.below(20);
    const std::int64_t size = m.one_of<std::int64_t>({1, 3, 5});
    m.attributes.set("group", group);
    m.attributes.set("pads", Ints(4, size / 2));
    return m.node(product, {m.input({m.dim(2), channels * group, 4 + m.dim(9), 4 + m.dim(9)}),
                            m.weights({group * (1 + m.below(16)), channels, size, size})});
  }
  m.node(product, {m.input({m.dim(40), k}), m.weights({k, n})});
}

inline void make_activation(Maker& m) {
  static constexpr OpKind kActivations[] = {
#define PX_ACTIVATION(name) OpKind::k##name,
#include "ir/activations.def"
#undef PX_ACTIVATION
  };
  make_product(m);
  Activation& activation = m.graph.nodes[NodeId{0}].epilogue.activation;
  activation.op = kActivations[m.below(std::ssize(kActivations))];
  if (activation.op == OpKind::kSilu && m.chance(50)) activation.alpha = kQuickGeluAlpha;
  if (activation.op == OpKind::kLeakyRelu || activation.op == OpKind::kElu)
    activation.alpha = m.one_of({0.01F, 0.5F, 1.0F});
  if (activation.op == OpKind::kHardSigmoid) {
    activation.alpha = m.one_of({0.2F, 0.5F});
    activation.beta = 0.5F;
  }
  if (activation.op == OpKind::kClip && m.chance(80)) activation.low = m.one_of({-0.5F, 0.0F});
  if (activation.op == OpKind::kClip && m.chance(80)) activation.high = m.one_of({6.0F, 0.25F});
}

inline void make_silu(Maker& m) {
  if (m.chance(60)) m.attributes.set("alpha", m.one_of({0.5F, 1.702F, -2.0F}));
  m.node(OpKind::kSilu, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

/// Dimensions of the operands of a product over `batch`.
struct Product {
  Ints a, b;
};
inline Product product_of(Maker& m, const Ints& batch, std::int64_t rows, std::int64_t depth,
                          std::int64_t columns) {
  Product product{m.broadcast(batch), m.broadcast(batch)};
  product.a.insert(product.a.end(), {rows, depth});
  product.b.insert(product.b.end(), {depth, columns});
  return product;
}

inline void make_matmul_bias(Maker& m) {
  const std::int64_t n = m.dim(40);
  const Product dims =
      product_of(m, m.dims(static_cast<std::size_t>(m.below(3))), m.dim(40), m.dim(40), n);
  const ValueId a = m.input(dims.a), b = m.weights(dims.b);
  m.node(OpKind::kMatMul, {a, b, m.weights({n})});
}

inline void make_matmul_perm(Maker& m) {
  const Product dims =
      product_of(m, m.dims(static_cast<std::size_t>(m.below(3))), m.dim(40), m.dim(40), m.dim(40));
  const ValueId a = m.input(dims.a);
  m.node(OpKind::kMatMul, {a, m.permuted(dims.b, param_name(&MatMulParams::b_perm), 100, true)});
}

inline void make_attention(Maker& m) {
  const Ints batch = m.dims(static_cast<std::size_t>(m.below(3)));
  const std::int64_t queries = m.dim(40), keys = m.dim(40);
  Product scores = product_of(m, batch, queries, m.dim(40), keys);
  Product result = product_of(m, batch, queries, keys, m.dim(40));
  if (!batch.empty() && m.chance(30)) {
    const std::int64_t group = 2 + m.below(2);
    m.attributes.set("group", group);
    const auto with_heads = [&](Ints& dims, std::int64_t heads) {
      const Ints matrix(dims.end() - 2, dims.end());
      dims.assign(batch.begin(), batch.end() - 1);
      dims.insert(dims.end(), {heads, matrix[0], matrix[1]});
    };
    with_heads(scores.a, batch.back() * group);
    with_heads(scores.b, batch.back());
    with_heads(result.b, batch.back());
  }
  if (m.chance(50)) m.attributes.set("scale", 0.25F);
  if (m.chance(30)) m.attributes.set("nan_is_zero", std::int64_t{1});
  std::vector<ValueId> inputs = {m.permuted(scores.a, param_name(kAttentionPerms[0]), 50),
                                 m.permuted(scores.b, param_name(kAttentionPerms[1]), 50),
                                 m.permuted(result.b, param_name(kAttentionPerms[2]), 50)};
  Ints mask = scores.a.size() > scores.b.size() ? scores.a : scores.b;
  mask.end()[-2] = queries;
  mask.back() = keys;
  inputs.push_back(m.chance(50) ? m.input(m.broadcast(mask)) : ValueId{});
  if (m.chance(50)) {
    inputs.push_back(m.input(m.broadcast(mask), DType::kBool));
    constexpr float kLowest = std::numeric_limits<float>::lowest();
    m.attributes.set("fill",
                     m.one_of({-std::numeric_limits<float>::infinity(), kLowest, -1e9F, 0.5F}));
    if (m.chance(70)) m.attributes.set("fill_where", m.below(2));
    if (m.chance(70)) m.attributes.set("fill_last", m.below(2));
  }
  while (!inputs.back().valid()) inputs.pop_back();
  const std::size_t rank = std::max({scores.a.size(), scores.b.size(), result.b.size()});
  if (m.chance(50)) {
    Ints perm(rank);
    for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>((i + 1) % rank);
    set_param(m.attributes, &FusedAttentionParams::y_perm, perm);
  }
  m.node(OpKind::kFusedAttention, std::move(inputs));
}

inline void make_cosine_attention(Maker& m) {
  const std::int64_t masks = 1 + m.below(3), batch = masks * m.dim(3);
  const std::int64_t queries = m.dim(9), keys = m.dim(9), heads = m.dim(4), depth = 1 + m.below(9);
  if (m.chance(70)) m.attributes.set("epsilon", m.one_of({0.5F, 1e-6F}));
  std::vector<ValueId> inputs = {m.input({batch, queries, heads, depth}),
                                 m.input({batch, keys, heads, depth}),
                                 m.input({batch, keys, heads, m.dim(9)}), m.weights({heads})};
  inputs.push_back(m.chance(50) ? m.weights({heads, queries, keys}) : ValueId{});
  if (m.chance(50)) inputs.push_back(m.weights({masks, queries, keys}));
  while (!inputs.back().valid()) inputs.pop_back();
  m.node(OpKind::kCosineAttention, std::move(inputs));
}

/// Neighbours stay neighbours: the bytes that a table is asked for may be one unit off.
inline Constant rising_table(Maker& m) {
  std::vector<std::byte> entries(static_cast<std::size_t>(kByteTableSize));
  const auto shift = static_cast<std::size_t>(m.below(3));
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::byte>(i >> shift);
  return make_constant(DType::kU8, Dims{kByteTableSize}, entries);
}

inline void make_byte_table(Maker& m) {
  set_param(m.attributes, &ByteTableParams::table, rising_table(m));
  m.node(OpKind::kQuantizeLinear, {m.input(m.dims(static_cast<std::size_t>(m.below(5))),
                                           m.one_of({DType::kU8, DType::kI8}))});
}

/// `requantised` in so many of a hundred cases.
inline void make_integer_product(Maker& m, int requantised) {
  const DType x = m.one_of({DType::kU8, DType::kI8}), y = m.one_of({DType::kU8, DType::kI8});
  const bool convolves = m.chance(50);
  const std::int64_t lines = 1 + m.below(40), depth = 1 + m.below(20);
  std::vector<ValueId> inputs(kProductInputs);
  inputs[kProductX] = m.input(convolves ? Ints{m.dim(2), depth, 4 + m.dim(9), 4 + m.dim(9)}
                                        : Ints{m.dim(3), m.dim(40), depth},
                              x);
  inputs[kProductW] =
      m.bytes(convolves ? Ints{lines, depth, 3, 3} : Ints{depth, lines}, DType::kI8, -128, 127);
  if (convolves) m.attributes.set("pads", Ints(4, m.below(2)));
  if (m.chance(80)) inputs[kProductXZero] = m.bytes({}, x, x == DType::kI8 ? -128 : 0, 127);
  if (m.chance(50)) inputs[kProductWZero] = m.bytes({}, DType::kI8, 0, 0);
  inputs[kProductXScale] = m.scales({}, 0.01F);
  inputs[kProductWScale] = m.scales(m.chance(50) ? Ints{} : Ints{lines}, 0.02F);
  if (m.chance(50)) inputs[kProductBias] = m.weights({lines});
  if (m.chance(requantised)) {
    inputs[kProductYScale] = m.scales({}, 0.5F);
    inputs[kProductYZero] = m.bytes({}, y, y == DType::kI8 ? -128 : 0, 127);
  }
  while (!inputs.back().valid()) inputs.pop_back();
  m.node(convolves ? OpKind::kConvInteger : OpKind::kMatMulInteger, std::move(inputs));
  if (m.chance(50)) m.graph.nodes[NodeId{0}].epilogue.activation.op = OpKind::kRelu;
}
inline void make_scaled_product(Maker& m) { make_integer_product(m, 50); }
inline void make_looked_up_product(Maker& m) {
  set_param(m.attributes, &ByteTableParams::table, rising_table(m));
  make_integer_product(m, 100);
}

inline void make_norm_residual(Maker& m) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  const std::int64_t axis = m.below(std::ssize(dims));
  if (m.chance(70)) m.attributes.set("axis", axis - (m.chance(50) ? std::ssize(dims) : 0));
  const Ints affine(dims.end() - 1, dims.end());
  const ValueId x = m.input(dims), scale = m.weights(affine);
  m.node(OpKind::kLayerNormalization,
         {x, scale, m.chance(50) ? m.weights(affine) : ValueId{}, m.input(dims)});
}

/// Those that the pass makes, and others, which the reference kernel computes.
inline void make_conv_residual(Maker& m) {
  const auto axes = static_cast<std::size_t>(1 + m.below(2));
  const bool last = m.chance(80);
  const std::int64_t channels = 1 + m.below(40), filters = 1 + m.below(70);
  const std::int64_t size = m.one_of<std::int64_t>({1, 1, 1, 3});
  const auto image = [&, batch = m.dim(2), height = 1 + m.dim(9)](std::int64_t depth) {
    Ints dims = {batch};
    for (std::size_t i = 0; i < axes; ++i) dims.push_back(height + static_cast<std::int64_t>(i));
    dims.insert(last ? dims.end() : dims.begin() + 1, depth);
    return dims;
  };
  if (last) m.attributes.set("layout", std::string("NHWC"));
  m.attributes.set("pads", Ints(2 * axes, size / 2));
  Ints weights = {filters, channels};
  weights.insert(weights.end(), axes, size);
  const ValueId x = m.input(image(channels)), w = m.weights(weights);
  const ValueId bias = m.chance(50) ? m.weights({filters}) : ValueId{};
  m.node(OpKind::kConv, {x, w, bias, m.input(image(filters))});
  if (m.chance(50))
    m.graph.nodes[NodeId{0}].epilogue.activation.op =
        m.one_of({OpKind::kRelu, OpKind::kSilu, OpKind::kTanh});
}

inline void make_layout(Maker& m) {
  m.attributes.set("layout", std::string("NHWC"));
  const std::size_t axes = static_cast<std::size_t>(1 + m.below(2));
  const std::int64_t channels = 1 + m.below(20), size = m.one_of<std::int64_t>({1, 3});
  Ints dims = {m.dim(2)};
  for (std::size_t i = 0; i < axes; ++i) dims.push_back(4 + m.dim(9));
  dims.push_back(channels);
  const ValueId x = m.input(dims);
  const auto op =
      m.one_of({OpKind::kConv, OpKind::kMaxPool, OpKind::kAveragePool, OpKind::kGlobalAveragePool});
  if (op == OpKind::kGlobalAveragePool) return m.node(op, {x});
  m.attributes.set("pads", Ints(2 * axes, size / 2));
  if (m.chance(50)) m.attributes.set("strides", Ints(axes, 2));
  if (op != OpKind::kConv) {
    m.attributes.set("kernel_shape", Ints(axes, size));
    return m.node(op, {x});
  }
  Ints filters = {1 + m.below(20), channels};
  filters.insert(filters.end(), axes, size);
  m.node(op, {x, m.weights(filters)});
}

inline void make_gelu(Maker& m) {
  if (m.chance(50)) m.attributes.set("approximate", std::string("tanh"));
  m.node(OpKind::kGelu, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

inline void make_hard_swish(Maker& m) {
  m.node(OpKind::kHardSwish, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

inline void make_normalization(Maker& m, OpKind op) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  const std::int64_t axis = m.below(std::ssize(dims));
  if (m.chance(70)) m.attributes.set("axis", axis - (m.chance(50) ? std::ssize(dims) : 0));
  if (m.chance(50)) m.attributes.set("epsilon", 0.1F);
  const Ints affine(dims.end() - 1, dims.end());
  std::vector<ValueId> inputs = {m.input(dims), m.weights(affine)};
  if (op == OpKind::kLayerNormalization && m.chance(50)) inputs.push_back(m.weights(affine));
  m.node(op, std::move(inputs));
}
inline void make_layer_normalization(Maker& m) {
  make_normalization(m, OpKind::kLayerNormalization);
}
inline void make_rms_normalization(Maker& m) { make_normalization(m, OpKind::kRMSNormalization); }

inline void make_squares(Maker& m, OpKind op) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  if (m.chance(50)) m.attributes.set("keepdims", m.below(2));
  if (m.chance(20)) m.attributes.set("noop_with_empty_axes", std::int64_t{1});
  std::vector<ValueId> inputs = {m.input(dims)};
  if (m.chance(70)) inputs.push_back(m.ints({m.below(std::ssize(dims))}));
  m.node(op, std::move(inputs));
}
inline void make_reduce_l2(Maker& m) { make_squares(m, OpKind::kReduceL2); }
inline void make_reduce_sum_square(Maker& m) { make_squares(m, OpKind::kReduceSumSquare); }

inline void make_lp_normalization(Maker& m) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  if (m.chance(50)) m.attributes.set("axis", m.below(std::ssize(dims)));
  if (m.chance(50)) m.attributes.set("p", 1 + m.below(2));
  m.node(OpKind::kLpNormalization, {m.input(dims)});
}

/// By the name of the decomposition.
inline const std::map<std::string_view, std::function<void(Maker&)>> kMakers = {
    {"ElementwiseChain", make_chain},
    {"Gelu", make_gelu},
    {"HardSwish", make_hard_swish},
    {"LayerNormalization", make_layer_normalization},
    {"RMSNormalization", make_rms_normalization},
    {"LpNormalization", make_lp_normalization},
    {"ReduceL2", make_reduce_l2},
    {"ReduceSumSquare", make_reduce_sum_square},
    {"activation", make_activation},
    {"byte table", make_byte_table},
    {"integer product looked up", make_looked_up_product},
    {"integer product scaled", make_scaled_product},
    {"MatMul bias", make_matmul_bias},
    {"Silu", make_silu},
    {"FusedAttention", make_attention},
    {"CosineAttention", make_cosine_attention},
    {"LayerNormalization residual", make_norm_residual},
    {"Conv residual", make_conv_residual},
    {"MatMul of transposed", make_matmul_perm},
    {"layout", make_layout},
};

}  // namespace parallax::node_makers
