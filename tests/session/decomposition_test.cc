// Every operator that has a decomposition, against that, on random shapes, attributes and numbers:
// on the reference kernels and on the best ones.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "ir/builder.h"
#include "ir/text.h"
#include "lower/cpu/lower.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/chain.h"
#include "ops/infer.h"
#include "ops/matmul.h"
#include "ops/quantised.h"
#include "parallax/session.h"
#include "session/model_impl.h"
#include "session/numbers_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

/// Makes a graph of one fused node.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  /// One dimension in twenty has no elements.
  std::int64_t dim(std::int64_t most = 7) { return chance(5) ? 0 : 1 + below(most); }
  Ints dims(std::size_t rank) {
    Ints result;
    for (std::size_t i = 0; i < rank; ++i) result.push_back(dim(4));
    return result;
  }
  /// `dims`, some of them 1, some of the first left out.
  Ints broadcast(Ints dims) {
    for (std::int64_t& dim : dims)
      if (chance(30)) dim = 1;
    const auto left_out = below(std::ssize(dims) + 1);
    dims.erase(dims.begin(), dims.begin() + left_out);
    return dims;
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(std::ssize(list)));
  }

  ValueId input(const Ints& dims, DType dtype = DType::kF32) {
    return builder_.input(fmt::format("x{}", graph.inputs.size()), dtype,
                          Shape(dims.begin(), dims.end()));
  }
  /// An input or, as weights are, a constant.
  ValueId weights(const Ints& dims) {
    if (chance(50)) return input(dims);
    std::vector<float> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (float& x : elements) x = static_cast<float>(below(2001)) / 1000 - 1;
    return builder_.constant(
        fmt::format("w{}", graph.values.size()),
        make_constant(DType::kF32, Dims(dims), std::as_bytes(std::span(elements))));
  }
  /// A constant of bytes in [low, high].
  ValueId bytes(const Ints& dims, DType dtype, std::int64_t low, std::int64_t high) {
    std::vector<std::byte> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (std::byte& x : elements) x = static_cast<std::byte>(low + below(high - low + 1));
    return builder_.constant(fmt::format("b{}", graph.values.size()),
                             make_constant(dtype, Dims(dims), elements));
  }
  /// Positive numbers.
  ValueId scales(const Ints& dims, float most) {
    std::vector<float> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (float& x : elements) x = most * static_cast<float>(1 + below(100)) / 100;
    return builder_.constant(
        fmt::format("s{}", graph.values.size()),
        make_constant(DType::kF32, Dims(dims), std::as_bytes(std::span(elements))));
  }
  ValueId ints(const Ints& elements) {
    return builder_.constant(fmt::format("i{}", graph.values.size()), make_i64(elements));
  }
  /// An input that the node sees as `dims` through the permutation in `attribute`, which it has in
  /// `often` of a hundred cases.
  ValueId permuted(const Ints& dims, std::string_view attribute, int often,
                   bool weights_too = false) {
    Ints perm(dims.size()), from(dims.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    if (chance(often)) {
      std::ranges::shuffle(perm, random_);
      attributes.set(std::string(attribute), perm);
    }
    for (std::size_t i = 0; i < perm.size(); ++i) from[static_cast<std::size_t>(perm[i])] = dims[i];
    return weights_too ? weights(from) : input(from);
  }
  void node(OpKind op, std::vector<ValueId> inputs, int outputs = 1) {
    const NodeId id = builder_.node(op, std::move(inputs), attributes, {}, outputs);
    for (const ValueId output : graph.nodes[id].outputs) builder_.output(output);
  }

  Graph graph;
  Attributes attributes;

 private:
  std::minstd_rand random_;
  GraphBuilder builder_{graph};
};

void make_product(Maker& m) {
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

void make_activation(Maker& m) {
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

void make_silu(Maker& m) {
  if (m.chance(60)) m.attributes.set("alpha", m.one_of({0.5F, 1.702F, -2.0F}));
  m.node(OpKind::kSilu, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

/// Dimensions of the operands of a product over `batch`.
struct Product {
  Ints a, b;
};
Product product_of(Maker& m, const Ints& batch, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns) {
  Product product{m.broadcast(batch), m.broadcast(batch)};
  product.a.insert(product.a.end(), {rows, depth});
  product.b.insert(product.b.end(), {depth, columns});
  return product;
}

void make_matmul_bias(Maker& m) {
  const std::int64_t n = m.dim(40);
  const Product dims =
      product_of(m, m.dims(static_cast<std::size_t>(m.below(3))), m.dim(40), m.dim(40), n);
  const ValueId a = m.input(dims.a), b = m.weights(dims.b);
  m.node(OpKind::kMatMul, {a, b, m.weights({n})});
}

void make_matmul_perm(Maker& m) {
  const Product dims =
      product_of(m, m.dims(static_cast<std::size_t>(m.below(3))), m.dim(40), m.dim(40), m.dim(40));
  const ValueId a = m.input(dims.a);
  m.node(OpKind::kMatMul, {a, m.permuted(dims.b, kMatMulPerm, 100, true)});
}

void make_attention(Maker& m) {
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
  std::vector<ValueId> inputs = {m.permuted(scores.a, kAttentionPerms[0], 50),
                                 m.permuted(scores.b, kAttentionPerms[1], 50),
                                 m.permuted(result.b, kAttentionPerms[2], 50)};
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
    m.attributes.set(std::string(kAttentionOutputPerm), perm);
  }
  m.node(OpKind::kFusedAttention, std::move(inputs));
}

void make_cosine_attention(Maker& m) {
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
Constant rising_table(Maker& m) {
  std::vector<std::byte> entries(static_cast<std::size_t>(kByteTableSize));
  const auto shift = static_cast<std::size_t>(m.below(3));
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::byte>(i >> shift);
  return make_constant(DType::kU8, Dims{kByteTableSize}, entries);
}

void make_byte_table(Maker& m) {
  m.attributes.set(std::string(kByteTable), rising_table(m));
  m.node(OpKind::kQuantizeLinear, {m.input(m.dims(static_cast<std::size_t>(m.below(5))),
                                           m.one_of({DType::kU8, DType::kI8}))});
}

/// `requantised` in so many of a hundred cases.
void make_integer_product(Maker& m, int requantised) {
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
void make_scaled_product(Maker& m) { make_integer_product(m, 50); }
void make_looked_up_product(Maker& m) {
  m.attributes.set(std::string(kByteTable), rising_table(m));
  make_integer_product(m, 100);
}

void make_norm_residual(Maker& m) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  const std::int64_t axis = m.below(std::ssize(dims));
  if (m.chance(70)) m.attributes.set("axis", axis - (m.chance(50) ? std::ssize(dims) : 0));
  const Ints affine(dims.end() - 1, dims.end());
  const ValueId x = m.input(dims), scale = m.weights(affine);
  m.node(OpKind::kLayerNormalization,
         {x, scale, m.chance(50) ? m.weights(affine) : ValueId{}, m.input(dims)});
}

void make_layout(Maker& m) {
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

void make_gelu(Maker& m) {
  if (m.chance(50)) m.attributes.set("approximate", std::string("tanh"));
  m.node(OpKind::kGelu, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

void make_hard_swish(Maker& m) {
  m.node(OpKind::kHardSwish, {m.input(m.dims(static_cast<std::size_t>(m.below(5))))});
}

void make_normalization(Maker& m, OpKind op) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  const std::int64_t axis = m.below(std::ssize(dims));
  if (m.chance(70)) m.attributes.set("axis", axis - (m.chance(50) ? std::ssize(dims) : 0));
  if (m.chance(50)) m.attributes.set("epsilon", 0.1F);
  const Ints affine(dims.end() - 1, dims.end());
  std::vector<ValueId> inputs = {m.input(dims), m.weights(affine)};
  if (op == OpKind::kLayerNormalization && m.chance(50)) inputs.push_back(m.weights(affine));
  m.node(op, std::move(inputs));
}
void make_layer_normalization(Maker& m) { make_normalization(m, OpKind::kLayerNormalization); }
void make_rms_normalization(Maker& m) { make_normalization(m, OpKind::kRMSNormalization); }

void make_squares(Maker& m, OpKind op) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  if (m.chance(50)) m.attributes.set("keepdims", m.below(2));
  if (m.chance(20)) m.attributes.set("noop_with_empty_axes", std::int64_t{1});
  std::vector<ValueId> inputs = {m.input(dims)};
  if (m.chance(70)) inputs.push_back(m.ints({m.below(std::ssize(dims))}));
  m.node(op, std::move(inputs));
}
void make_reduce_l2(Maker& m) { make_squares(m, OpKind::kReduceL2); }
void make_reduce_sum_square(Maker& m) { make_squares(m, OpKind::kReduceSumSquare); }

void make_lp_normalization(Maker& m) {
  const Ints dims = m.dims(static_cast<std::size_t>(1 + m.below(4)));
  if (m.chance(50)) m.attributes.set("axis", m.below(std::ssize(dims)));
  if (m.chance(50)) m.attributes.set("p", 1 + m.below(2));
  m.node(OpKind::kLpNormalization, {m.input(dims)});
}

/// Makes a chain of random steps. Only what both kinds of kernels compute to the bit is compared,
/// cast or divided by: others may lie on two sides of a bound.
class ChainOfSteps {
 public:
  explicit ChainOfSteps(Maker& m) : m_(m) {}

  void make() {
    const Ints dims = m_.dims(static_cast<std::size_t>(m_.below(4)));
    read(m_.input(dims), DType::kF32, true);
    for (std::int64_t i = m_.below(3); i > 0; --i)
      read(m_.weights(m_.broadcast(dims)), DType::kF32, false);
    if (m_.chance(50)) read(m_.input(m_.broadcast(dims), DType::kBool), DType::kBool, false);
    for (std::int64_t i = m_.below(8); i >= 0; --i) add_step();
    // The last is a result, and tests read f32.
    add(OpKind::kAdd, DType::kF32, {any(DType::kF32, false, true), any(DType::kF32, false)}, false);
    program_.results.push_back(program_.steps.size() - 1);
    for (std::size_t s = 0; s + 1 < program_.steps.size(); ++s)
      if (program_.steps[s].dtype == DType::kF32 && m_.chance(20)) program_.results.push_back(s);
    m_.attributes = write_chain(program_);
    m_.node(OpKind::kElementwiseChain, inputs_, static_cast<int>(program_.results.size()));
  }

 private:
  struct Known {
    ChainOperand operand;
    DType dtype;
    bool exact, whole;  ///< whole: of the chain's shape
  };

  void read(ValueId value, DType dtype, bool whole) {
    known_.push_back({{ChainOperand::Kind::kInput, inputs_.size()}, dtype, true, whole});
    inputs_.push_back(value);
  }

  void add(OpKind op, DType dtype, const std::vector<std::optional<Known>>& operands, bool exact,
           Attributes attributes = {}) {
    ChainStep step{op, dtype, std::move(attributes), {}};
    for (const auto& operand : operands) {
      if (!operand) return;
      step.operands.push_back(operand->operand);
      exact = exact && operand->exact;
    }
    known_.push_back({{ChainOperand::Kind::kStep, program_.steps.size()}, dtype, exact, true});
    program_.steps.push_back(std::move(step));
  }

  std::optional<Known> any(DType dtype, bool exact, bool whole = false) {
    std::vector<Known> fitting;
    for (const Known& one : known_)
      if (one.dtype == dtype && (one.exact || !exact) && (one.whole || !whole))
        fitting.push_back(one);
    if (fitting.empty()) return std::nullopt;
    return fitting[static_cast<std::size_t>(m_.below(std::ssize(fitting)))];
  }

  static Attributes to(DType dtype) {
    Attributes attributes;
    attributes.set("to", std::int64_t{info_of(dtype).onnx});
    return attributes;
  }

  void add_step() {
    constexpr DType kF32 = DType::kF32, kBool = DType::kBool;
    const DType whole_number = m_.one_of({DType::kI64, DType::kI32, DType::kU8, DType::kI8});
    switch (m_.below(9)) {
      case 0:
        return add(m_.one_of({OpKind::kAbs, OpKind::kNeg, OpKind::kRelu}), kF32,
                   {any(kF32, false, true)}, true);
      case 1:
        return add(m_.one_of({OpKind::kTanh, OpKind::kSigmoid, OpKind::kExp, OpKind::kSilu}), kF32,
                   {any(kF32, false, true)}, false);
      case 2:
        return add(
            m_.one_of({OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMin, OpKind::kMax}), kF32,
            {any(kF32, false), any(kF32, false, true)}, true);
      case 3:
        return add(m_.one_of({OpKind::kDiv, OpKind::kMul}), kF32,
                   {any(kF32, true, true), any(kF32, true)}, true);
      case 4:
        return add(m_.one_of({OpKind::kLess, OpKind::kGreaterOrEqual, OpKind::kEqual}), kBool,
                   {any(kF32, true, true), any(kF32, true)}, true);
      case 5:
        return add(OpKind::kWhere, kF32,
                   {any(kBool, true), any(kF32, false, true), any(kF32, false)}, true);
      case 6:
        return add(OpKind::kCast, whole_number, {any(kF32, true, true)}, true, to(whole_number));
      case 7:
        return add(OpKind::kMul, whole_number,
                   {any(whole_number, true, true), any(whole_number, true)}, true);
      default:
        return add(OpKind::kCast, kF32, {any(whole_number, true, true)}, true, to(kF32));
    }
  }

  Maker& m_;
  std::vector<ValueId> inputs_;
  std::vector<Known> known_;
  ChainProgram program_;
};

void make_chain(Maker& m) { ChainOfSteps(m).make(); }

const std::map<std::string_view, std::function<void(Maker&)>> kMakers = {
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
    {"MatMul of transposed", make_matmul_perm},
    {"layout", make_layout},
};

/// The outputs of one run of the graph as it is, or behind the passes that are not `disabled`.
Result<std::vector<Tensor>> run(const Graph& graph, Kernels kernels,
                                const std::vector<Tensor>& tensors,
                                std::vector<std::string> disabled = Model::passes()) {
  LoadOptions options;
  options.disabled_passes = std::move(disabled);
  auto model = Model::Impl::make(graph, options);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, {.threads = 1, .kernels = kernels});
  if (!session) return tl::unexpected(session.error());
  std::vector<NamedInput> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model->inputs()[i].name, tensors[i].view()});
  return session->run(inputs);
}

class DecompositionTest : public testing::TestWithParam<Decomposition> {};

/// `special` in one of the inputs, at one place or everywhere.
std::vector<Tensor> inputs_of(const Graph& graph, std::optional<float> special, unsigned seed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    Dims dims;
    for (const Expr& dim : graph.values[graph.inputs[i]].shape) dims.push_back(*dim.constant());
    const bool here = seed % graph.inputs.size() == i;
    tensors.push_back(test_input(graph.values[graph.inputs[i]].dtype, dims,
                                 here ? special : std::nullopt, seed % 3 == 0,
                                 seed + static_cast<unsigned>(i)));
  }
  return tensors;
}

TEST_P(DecompositionTest, GivesWhatTheFusedOperatorGives) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Decomposition& form = GetParam();
  ASSERT_TRUE(kMakers.contains(form.name)) << "a new form needs a row in kMakers";
  int made = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Maker maker(seed);
    kMakers.at(form.name)(maker);
    const Graph fused = maker.graph;
    Graph graph = fused;
    if (!infer_graph(graph)) continue;  // without elements in the wrong place
    ++made;
    Graph parts = graph;
    ASSERT_TRUE(form.applies(parts.nodes[NodeId{0}])) << print(graph);
    for (const auto forms : {cpu_decompositions(), std::span(&form, 1)}) {
      const auto changes = decompose(parts, forms);
      ASSERT_TRUE(changes) << changes.error().to_string() << "\n" << print(graph);
    }
    ASSERT_FALSE(form.applies(parts.nodes[NodeId{0}])) << print(parts);
    for (const Node& node : parts.nodes) {
      const Status of_models = check_node(node, true);
      ASSERT_TRUE(of_models) << of_models.error().to_string() << "\n" << print(parts);
    }
    const bool spreads = graph.nodes[NodeId{0}].op == OpKind::kConv;
    for (const auto special : {std::optional<float>{}, std::optional(-0.0F),
                               std::optional(std::numeric_limits<float>::quiet_NaN()),
                               std::optional(kInfinity), std::optional(-kInfinity)}) {
      const auto inputs = inputs_of(graph, special, seed);
      const auto wanted = run(parts, Kernels::kReference, inputs);
      ASSERT_TRUE(wanted) << wanted.error().to_string() << "\n" << print(parts);
      for (const Kernels kernels : {Kernels::kReference, Kernels::kBest}) {
        const auto got = run(graph, kernels, inputs);
        ASSERT_TRUE(got) << got.error().to_string() << "\n" << print(graph);
        ASSERT_EQ(got->size(), wanted->size());
        for (std::size_t i = 0; i < got->size(); ++i)
          EXPECT_EQ(problem((*got)[i], (*wanted)[i], spreads && kernels == Kernels::kBest, true),
                    "")
              << "seed " << seed << ", " << special.value_or(1) << ", kernels "
              << static_cast<int>(kernels) << "\n"
              << print(graph) << print(parts);
      }
    }
  }
  EXPECT_GE(made, 100);
}

TEST(ElementwiseChain, HasTheBitsOfItsOperators) {
  for (unsigned seed = 1000; seed < 1150; ++seed) {
    Maker maker(seed);
    make_chain(maker);
    Graph graph = maker.graph;
    ASSERT_TRUE(infer_graph(graph)) << print(graph);
    Graph parts = graph;
    ASSERT_TRUE(decompose(parts, pattern_decompositions().first(1)));
    const auto special = seed % 2 == 0 ? std::nullopt : std::optional(-0.0F);
    const auto inputs = inputs_of(graph, special, seed);
    const auto wanted = run(parts, Kernels::kBest, inputs, {"fuse_chain"});
    const auto chained = run(parts, Kernels::kBest, inputs, {});
    const auto got = run(graph, Kernels::kBest, inputs);
    ASSERT_TRUE(wanted && chained && got) << print(graph);
    EXPECT_TRUE(same_bits(*got, *wanted)) << seed << "\n" << print(graph) << print(parts);
    EXPECT_TRUE(same_bits(*chained, *wanted)) << seed << "\n" << print(parts);
  }
}

std::string name_of(const testing::TestParamInfo<Decomposition>& form) {
  std::string name(form.param.name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Forms, DecompositionTest,
                         testing::ValuesIn(cpu_decompositions().begin(),
                                           cpu_decompositions().end()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OfModels, DecompositionTest,
                         testing::ValuesIn(model_decompositions().begin(),
                                           model_decompositions().end()),
                         name_of);

}  // namespace
}  // namespace parallax
