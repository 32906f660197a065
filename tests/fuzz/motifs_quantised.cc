// Quantised graphs as ONNX Runtime's quantiser, ultralytics, torchao and NNCF write them: operators
// between DequantizeLinear and QuantizeLinear, products of integers, dynamic quantisation, weights
// of few bits. Each step is dropped where it does not compute.
#include <algorithm>
#include <array>
#include <utility>

#include "quantiser.h"
#include "recipes.h"

namespace parallax::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

std::size_t length_of(std::int64_t n) { return static_cast<std::size_t>(n); }

Attributes numbers_of(const char* name, Sizes numbers) {
  Attributes attributes;
  attributes.set(name, std::move(numbers));
  return attributes;
}

std::string known_list(Generator& g, const Sizes& numbers) { return g.constant(make_i64(numbers)); }

/// Real numbers of that rank whose `axis` has one size, not 0, in all runs.
std::string reals(Generator& g, int rank, int axis) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::string x = g.tensor(DType::kF32, rank, rank);
    if (g.is_fixed(x, axis) && g.dims(x, 0)[axis] > 0 && g.dims(x, 0)[axis] <= 64) return x;
  }
  Lists dims(g.runs());
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = g.random().pick(std::array{1, 2, 3, 5, 8, 17});
    for (auto& list : dims) list.push_back(size);
  }
  return g.input(DType::kF32, dims);
}

/// Bytes that are there, or new ones.
Quantised bytes_of_rank(Quantiser& q, int rank, int axis, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  std::vector<Quantised> fit;
  for (const Quantised& x : there)
    if (g.rank(x.name) == rank && g.is_fixed(x.name, axis) && g.dims(x.name, 0)[axis] > 0)
      fit.push_back(x);
  if (!fit.empty() && g.random().chance(85))
    return g.random().chance(70) ? fit.back() : g.random().pick(fit);
  if (g.random().chance(85)) return q.quantised(reals(g, rank, axis), q.any_scale());
  Lists dims(g.runs());
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = g.random().between(1, 9);
    for (auto& list : dims) list.push_back(size);
  }
  return {g.input(q.activations(), dims), q.any_scale(), q.any_zero(q.activations())};
}

/// What stands between a product and QuantizeLinear. SiLU may be quantised between its nodes.
std::string activated_real(Quantiser& q, const std::string& x) {
  Generator& g = q.generator();
  if (x.empty()) return x;
  switch (g.random().between(0, 9)) {
    case 0:
    case 1:
      return g.add(OpKind::kRelu, {x});
    case 2:
      return g.add(OpKind::kClip, {x, q.scalar(0), q.scalar(6)});
    case 3:
      return g.add(OpKind::kHardSwish, {x});
    case 4: {
      const std::string y = g.random().chance(50) ? q.rounded(x, q.any_scale()) : x;
      std::string gate = y.empty() ? y : g.add(OpKind::kSigmoid, {y});
      if (g.random().chance(50)) gate = q.rounded(gate, 1.0F / 255);
      return gate.empty() ? gate : g.add(OpKind::kMul, {y, gate});
    }
    case 5:
      return g.add(OpKind::kLeakyRelu, {x});
    default:
      return x;
  }
}

bool keep_bytes(Quantised y, std::vector<Quantised>& there) {
  if (y.name.empty()) return false;
  there.push_back(std::move(y));
  return true;
}

Attributes windows(Random& random, std::size_t axes, std::int64_t size) {
  Attributes attributes;
  if (random.chance(70)) attributes.set("pads", Sizes(2 * axes, size / 2));
  if (random.chance(25)) attributes.set("strides", Sizes(axes, 2));
  if (random.chance(10)) attributes.set("dilations", Sizes(axes, 2));
  return attributes;
}

bool quantised_convolution(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  Random& random = g.random();
  const int rank = random.chance(80) ? 4 : 3;
  const Quantised x = bytes_of_rank(q, rank, 1, there);
  const std::string real = q.real(x);
  if (real.empty()) return false;
  const std::int64_t channels = g.dims(x.name, 0)[1];
  std::int64_t groups = 1, filters = random.pick(std::array{1, 3, 8, 16, 20});
  if (random.chance(25)) groups = filters = channels;
  if (groups == 1 && channels % 2 == 0 && random.chance(10)) groups = filters = 2;
  const std::int64_t size = random.pick(std::array{1, 3, 3, 2});
  Dims dims{filters, channels / groups};
  for (int axis = 2; axis < rank; ++axis) dims.push_back(size);
  const RealWeights w = q.weights(dims, 0);
  if (w.name.empty()) return false;
  Attributes attributes = windows(random, static_cast<std::size_t>(rank - 2), size);
  if (groups > 1) attributes.set("group", groups);
  std::vector<std::string> inputs = {real, w.name};
  if (auto bias = q.bias(x, w, filters); !bias.empty()) inputs.push_back(std::move(bias));
  const std::string y = g.add(OpKind::kConv, std::move(inputs), std::move(attributes));
  const std::int64_t depth = dims.elements() / filters;
  return keep_bytes(q.quantised(activated_real(q, y), q.scale_of_sums(x, w, depth)), there);
}

/// MatMul of [.., K] and [K, N], of [N, K] turned, or Gemm. Weights alone may be quantised.
bool quantised_product(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  Random& random = g.random();
  const int rank = static_cast<int>(random.between(2, 3));
  const bool weights_only = random.chance(25);
  Quantised x;
  std::string real = weights_only ? reals(g, rank, rank - 1) : std::string();
  if (!weights_only) real = q.real(x = bytes_of_rank(q, rank, rank - 1, there));
  if (real.empty()) return false;
  const std::int64_t depth = g.dims(real, 0)[rank - 1];
  const std::int64_t columns = random.pick(std::array{1, 3, 8, 17, 33});
  const bool turned = random.chance(30), gemm = rank == 2 && random.chance(30);
  const RealWeights w =
      q.weights(turned ? Dims{columns, depth} : Dims{depth, columns}, turned ? 0 : 1);
  if (w.name.empty()) return false;
  std::string weights = w.name, y;
  const std::string bias = q.bias(x, w, columns);
  if (gemm) {
    Attributes attributes;
    if (turned) attributes.set("transB", std::int64_t{1});
    std::vector<std::string> inputs = {real, weights};
    if (!bias.empty()) inputs.push_back(bias);
    y = g.add(OpKind::kGemm, std::move(inputs), std::move(attributes));
  } else {
    if (turned) weights = g.add(OpKind::kTranspose, {weights}, numbers_of("perm", {1, 0}));
    if (weights.empty()) return false;
    y = g.add(OpKind::kMatMul, {real, weights});
    if (!y.empty() && !bias.empty())
      y = g.add(OpKind::kAdd, random.chance(50) ? std::vector{y, bias} : std::vector{bias, y});
  }
  y = activated_real(q, y);
  if (y.empty() || weights_only) return !y.empty();
  return keep_bytes(q.quantised(y, q.scale_of_sums(x, w, depth)), there);
}

/// An operator of two tensors of bytes.
bool quantised_pair(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  Random& random = g.random();
  const Quantised a = bytes_of_rank(q, static_cast<int>(random.between(2, 4)), 1, there);
  if (a.name.empty()) return false;
  std::vector<Quantised> like;
  for (const Quantised& x : there)
    if (g.value(x.name, 0)->dims == g.value(a.name, 0)->dims) like.push_back(x);
  const Quantised b = like.empty() ? a : random.pick(like);
  const std::string left = q.real(a), right = q.real(b);
  if (left.empty() || right.empty()) return false;
  if (random.chance(40)) {
    Attributes axis;
    axis.set("axis", std::int64_t{1});
    const float scale = random.chance(50) ? a.scale : q.any_scale();
    return keep_bytes(q.quantised(g.add(OpKind::kConcat, {left, right}, std::move(axis)), scale),
                      there);
  }
  const OpKind op = random.pick(std::array{OpKind::kAdd, OpKind::kMul, OpKind::kSub});
  const std::string y = activated_real(q, g.add(op, {left, right}));
  return keep_bytes(q.quantised(y, 3 * a.scale), there);
}

/// Elements move, or the largest are taken, between bytes.
std::string moved(Generator& g, const std::string& x) {
  Random& random = g.random();
  const int rank = g.rank(x);
  switch (random.between(0, 4)) {
    case 0:
      return g.add(OpKind::kReshape, {x, known_list(g, {0, -1})});
    case 1:
      return g.add(OpKind::kTranspose, {x},
                   numbers_of("perm", rank == 4 ? Sizes{0, 2, 3, 1}
                                                : (rank == 3 ? Sizes{0, 2, 1} : Sizes{1, 0})));
    case 2:
      return g.add(OpKind::kSlice, {x, known_list(g, {0}), known_list(g, {3}), known_list(g, {1})});
    case 3: {
      if (rank < 3) return {};
      Attributes attributes = numbers_of("kernel_shape", Sizes(length_of(rank - 2), 2));
      return g.add(random.chance(60) ? OpKind::kMaxPool : OpKind::kAveragePool, {x},
                   std::move(attributes));
    }
    default: {
      if (rank != 4) return {};
      const std::string scales = g.floats({1, 1, 2, 2}, Dims{4});
      Attributes nearest;
      nearest.set("coordinate_transformation_mode", std::string("asymmetric"));
      nearest.set("nearest_mode", std::string("floor"));
      return g.add(OpKind::kResize, {x, "", scales}, std::move(nearest));
    }
  }
}

bool quantised_movement(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  const Quantised x = bytes_of_rank(q, static_cast<int>(g.random().between(2, 4)), 1, there);
  const std::string real = q.real(x);
  const std::string y = real.empty() ? real : moved(g, real);
  return keep_bytes(q.quantised(y, g.random().chance(60) ? x.scale : q.any_scale()), there);
}

/// A function of one tensor of bytes, which may become a table, or one of its rows.
bool quantised_function(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  static constexpr std::array kFunctions = {
      OpKind::kSigmoid, OpKind::kTanh,    OpKind::kHardSwish, OpKind::kHardSigmoid,
      OpKind::kErf,     OpKind::kSoftmax, OpKind::kAbs,       OpKind::kGlobalAveragePool};
  const Quantised x = bytes_of_rank(q, static_cast<int>(g.random().between(2, 4)), 1, there);
  const std::string real = q.real(x);
  if (real.empty()) return false;
  const std::string y = activated_real(q, g.add(g.random().pick(kFunctions), {real}));
  return keep_bytes(q.quantised(y, g.random().chance(50) ? 1.0F / 255 : q.any_scale()), there);
}

/// A sum of integers as f32, times both scales, plus a bias.
std::string scaled_sums(Generator& g, const std::string& sums, const std::string& x_scale,
                        const std::string& w_scale, const std::string& bias) {
  if (sums.empty()) return sums;
  Attributes to;
  to.set("to", std::int64_t{info_of(DType::kF32).onnx});
  const std::string real = g.add(OpKind::kCast, {sums}, std::move(to));
  const std::string scale = g.add(OpKind::kMul, {x_scale, w_scale});
  if (real.empty() || scale.empty()) return {};
  const std::string y = g.add(OpKind::kMul, {real, scale});
  return y.empty() || bias.empty() ? y : g.add(OpKind::kAdd, {y, bias});
}

/// DynamicQuantizeLinear, a product of integers, Cast, Mul and Add.
bool dynamic_product(Quantiser& q, std::vector<Quantised>&) {
  Generator& g = q.generator();
  Random& random = g.random();
  const bool convolves = random.chance(30);
  const int rank = convolves ? 4 : static_cast<int>(random.between(2, 3));
  const int axis = convolves ? 1 : rank - 1;
  const std::string x = reals(g, rank, axis);
  CaseNode node{OpKind::kDynamicQuantizeLinear, {}, {x}, {"", "", ""}, {}};
  if (!g.add(node)) return false;
  const std::int64_t depth = g.dims(x, 0)[axis];
  const std::int64_t columns = random.pick(std::array{1, 3, 8, 17, 33});
  const DType dtype = random.chance(60) ? DType::kI8 : DType::kU8;
  const bool each = random.chance(40);
  const Dims of_scale = each && !convolves ? Dims{columns} : Dims{};
  const std::int64_t middle = dtype == DType::kI8 ? 0 : 128;
  const std::int64_t shift = random.chance(30) ? 5 : 0;
  const std::string zero = q.integers(dtype, of_scale, middle - shift, middle + shift);
  std::vector<float> scales(length_of(of_scale.elements()));
  for (float& scale : scales) scale = static_cast<float>(0.01 + 0.02 * random.unit());
  const Dims dims = convolves ? Dims{columns, depth, 3, 3} : Dims{depth, columns};
  std::vector<std::string> inputs = {node.outputs[0], q.weight_bytes(dtype, dims), node.outputs[2]};
  if (middle != 0 || random.chance(70)) inputs.push_back(zero);
  const std::string sums =
      convolves ? g.add(OpKind::kConvInteger, std::move(inputs), windows(random, 2, 3))
                : g.add(OpKind::kMatMulInteger, std::move(inputs));
  const Dims of_bias = convolves ? Dims{1, columns, 1, 1} : Dims{columns};
  const std::string bias = random.chance(60) ? g.weights(of_bias) : std::string();
  return !activated_real(q, scaled_sums(g, sums, node.outputs[1], g.floats(scales, of_scale), bias))
              .empty();
}

/// Sums of products of bytes, with zero points of any kind.
bool integer_sums(Quantiser& q, std::vector<Quantised>& there) {
  Generator& g = q.generator();
  Random& random = g.random();
  const bool convolves = random.chance(40);
  const int rank = convolves ? 4 : static_cast<int>(random.between(2, 3));
  const int axis = convolves ? 1 : rank - 1;
  const Quantised x = bytes_of_rank(q, rank, axis, there);
  if (x.name.empty()) return false;
  const std::int64_t depth = g.dims(x.name, 0)[axis];
  const std::int64_t columns = random.pick(std::array{1, 3, 8, 17});
  const DType dtype = random.chance(60) ? DType::kI8 : DType::kU8;
  const Dims dims = convolves ? Dims{columns, depth, 3, 3} : Dims{depth, columns};
  std::vector<std::string> inputs = {x.name, q.weight_bytes(dtype, dims), "", ""};
  if (random.chance(70)) inputs[2] = q.zero_point(g.dtype(x.name), x.zero);
  if (random.chance(60))
    inputs[3] = q.weight_bytes(dtype, random.chance(40) ? Dims{columns} : Dims{});
  return !(convolves ? g.add(OpKind::kConvInteger, std::move(inputs), windows(random, 2, 3))
                     : g.add(OpKind::kMatMulInteger, std::move(inputs)))
              .empty();
}

/// MatMulNBits of com.microsoft.
bool few_bits(Quantiser& q, std::vector<Quantised>&) {
  Generator& g = q.generator();
  Random& random = g.random();
  const int rank = static_cast<int>(random.between(1, 3));
  const std::string x = reals(g, rank, rank - 1);
  const std::int64_t depth = g.dims(x, 0)[rank - 1];
  const std::int64_t columns = random.pick(std::array{1, 3, 8, 17, 70});
  const std::int64_t bits = random.pick(std::array{4, 4, 8, 2});
  const std::int64_t block = random.pick(std::array{16, 32, 64});
  const std::int64_t blocks = (depth + block - 1) / block;
  std::vector<float> scales(length_of(columns * blocks));
  for (float& scale : scales) scale = static_cast<float>(random.between(1, 9)) / 128;
  const Dims of_scale = random.chance(50) ? Dims{columns * blocks} : Dims{columns, blocks};
  std::vector<std::string> inputs = {
      x, q.integers(DType::kU8, Dims{columns, blocks, block * bits / 8}, 0, 255),
      g.floats(scales, of_scale)};
  const std::int64_t form = random.between(0, 3);
  if (form == 1)
    inputs.push_back(q.integers(DType::kU8, Dims{columns * ((blocks * bits + 7) / 8)}, 0, 255));
  if (form == 2) inputs.push_back(g.weights(Dims{columns * blocks}));
  if (random.chance(30)) {
    inputs.resize(5);
    inputs.push_back(g.weights(Dims{columns}));
  }
  Attributes attributes;
  attributes.set("K", depth);
  attributes.set("N", columns);
  attributes.set("bits", bits);
  attributes.set("block_size", block);
  return !activated_real(q, g.add(OpKind::kMatMulNBits, std::move(inputs), std::move(attributes)))
              .empty();
}

}  // namespace

bool propose_quantised(Generator& g) {
  using Piece = bool (*)(Quantiser&, std::vector<Quantised>&);
  static constexpr std::array<Piece, 14> kPieces = {quantised_convolution, quantised_convolution,
                                                    quantised_convolution, quantised_convolution,
                                                    quantised_product,     quantised_product,
                                                    quantised_product,     quantised_pair,
                                                    quantised_movement,    quantised_movement,
                                                    quantised_function,    dynamic_product,
                                                    integer_sums,          few_bits};
  Quantiser q(g);
  std::vector<Quantised> there;
  int added = 0;
  const std::int64_t pieces = g.random().between(1, 5);
  for (std::int64_t i = 0; i < pieces; ++i) added += g.random().pick(kPieces)(q, there) ? 1 : 0;
  if (!there.empty() && g.random().chance(60)) added += q.real(there.back()).empty() ? 0 : 1;
  return added > 0;
}

}  // namespace parallax::fuzz
