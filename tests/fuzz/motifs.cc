// Groups of nodes that passes look for. Each step is dropped where it does not compute.
#include <array>
#include <cmath>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

Attributes perm(std::vector<std::int64_t> axes) {
  Attributes attributes;
  attributes.set("perm", std::move(axes));
  return attributes;
}

std::string scalar(Generator& g, float value) { return g.floats({value}, Dims{}); }

/// Relu, HardSwish, Sigmoid, Tanh, x * Sigmoid(x), Clip, or Gelu by Erf.
std::string activated(Generator& g, const std::string& x) {
  switch (g.random().between(0, 5)) {
    case 0:
      return g.add(g.random().chance(50) ? OpKind::kRelu : OpKind::kHardSwish, {x});
    case 1:
      return g.add(g.random().chance(50) ? OpKind::kSigmoid : OpKind::kTanh, {x});
    case 2: {
      const std::string gate = g.add(OpKind::kSigmoid, {x});
      if (gate.empty()) return gate;
      return g.add(OpKind::kMul,
                   g.random().chance(50) ? std::vector{x, gate} : std::vector{gate, x});
    }
    case 3:
      return g.add(OpKind::kClip, {x, scalar(g, 0.0F), scalar(g, 6.0F)});
    default: {
      const std::string scaled =
          g.add(OpKind::kDiv, {x, scalar(g, static_cast<float>(std::sqrt(2.0)))});
      if (scaled.empty()) return scaled;
      const std::string erf = g.add(OpKind::kErf, {scaled});
      const std::string one = g.add(OpKind::kAdd, {erf, scalar(g, 1.0F)});
      if (one.empty()) return one;
      const std::string product = g.add(OpKind::kMul, {x, one});
      return product.empty() ? product : g.add(OpKind::kMul, {product, scalar(g, 0.5F)});
    }
  }
}

bool propose_activation(Generator& g) { return !activated(g, g.tensor(DType::kF32, 1, 4)).empty(); }

/// Pad, Conv, BatchNormalization, activation, sum with the input of the chain.
bool propose_convolution(Generator& g) {
  Random& random = g.random();
  const std::string x = g.tensor(DType::kF32, 4, 4);
  if (!g.is_fixed(x, 1) || g.dims(x, 0)[1] == 0) return false;
  const std::int64_t channels = g.dims(x, 0)[1];
  std::string y = x;
  const bool padded = random.chance(30);
  if (padded) {
    y = g.add(OpKind::kPad,
              {y, g.constant(make_i64(std::array<std::int64_t, 8>{0, 0, 1, 1, 0, 0, 1, 1}))});
  }
  Attributes pads;
  if (!padded) pads.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  if (y.empty()) return false;
  y = g.add(OpKind::kConv, {y, g.weights(Dims{channels, channels, 3, 3})}, std::move(pads));
  if (y.empty()) return false;
  if (random.chance(60)) {
    const Dims dims{channels};
    const std::string positive =
        g.floats(std::vector<float>(static_cast<std::size_t>(channels), 0.5F), dims);
    y = g.add(OpKind::kBatchNormalization,
              {y, g.weights(dims), g.weights(dims), g.weights(dims), positive});
  }
  if (!y.empty() && random.chance(70)) y = activated(g, y);
  if (!y.empty() && random.chance(40)) y = g.add(OpKind::kAdd, {y, x});
  return !y.empty();
}

bool propose_product(Generator& g) {
  const std::string x = g.tensor(DType::kF32, 2, 3);
  if (!g.is_fixed(x, g.rank(x) - 1)) return false;
  const std::int64_t columns = g.random().pick(std::array{1, 4, 8, 17});
  std::string y =
      g.add(OpKind::kMatMul, {x, g.weights(Dims{g.dims(x, 0)[g.rank(x) - 1], columns})});
  if (!y.empty()) y = g.add(OpKind::kAdd, {y, g.weights(Dims{columns})});
  if (!y.empty() && g.random().chance(70)) y = activated(g, y);
  return !y.empty();
}

/// Some scores another number.
std::string chosen(Generator& g, const std::string& scores) {
  const std::string mask = g.partner(scores, DType::kBool);
  const std::string number = scalar(g, g.random().chance(50) ? -1e9F : 0.5F);
  return g.add(OpKind::kWhere, g.random().chance(50) ? std::vector{mask, scores, number}
                                                     : std::vector{mask, number, scores});
}

/// A mask that is added, by Where or both.
std::string masked(Generator& g, std::string scores) {
  const bool before = g.random().chance(25), behind = g.random().chance(25);
  if (before) scores = chosen(g, scores);
  if (!scores.empty() && g.random().chance(40))
    scores = g.add(OpKind::kAdd, {scores, g.partner(scores, DType::kF32)});
  return behind && !scores.empty() ? chosen(g, scores) : scores;
}

/// The one head of [batch, 1, a, b] twice.
std::string repeated(Generator& g, const std::string& x, std::array<std::int64_t, 4> dims) {
  const std::array<std::int64_t, 1> axis = {2};
  const std::array<std::int64_t, 5> times = {1, 1, 2, 1, 1};
  std::string y = g.add(OpKind::kUnsqueeze, {x, g.constant(make_i64(axis))});
  if (!y.empty()) y = g.add(OpKind::kTile, {y, g.constant(make_i64(times))});
  return y.empty() ? y : g.add(OpKind::kReshape, {y, g.constant(make_i64(dims))});
}

/// Softmax(scale * Q K + mask) V over heads that lie side by side or come as an axis; those of Q
/// may share one of K and V.
bool propose_attention(Generator& g) {
  Random& random = g.random();
  const std::string x = g.tensor(DType::kF32, 3, 3);
  if (!g.is_fixed(x, 2)) return false;
  const std::int64_t width = g.dims(x, 0)[2];
  const std::int64_t heads = width % 2 == 0 && width > 0 ? 2 : 1;
  const bool shared = heads == 2 && random.chance(30);
  std::array<std::string, 3> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool one_head = shared && i > 0;
    const std::array<std::int64_t, 4> split = {0, 0, one_head ? 1 : heads, -1};
    std::string y =
        g.add(OpKind::kMatMul, {x, g.weights(Dims{width, one_head ? width / 2 : width})});
    if (!y.empty()) y = g.add(OpKind::kReshape, {y, g.constant(make_i64(split))});
    if (y.empty()) return false;
    const bool turned = i == 1;
    parts[i] = g.add(OpKind::kTranspose, {y}, turned ? perm({0, 2, 3, 1}) : perm({0, 2, 1, 3}));
    if (one_head && !parts[i].empty())
      parts[i] = repeated(g, parts[i],
                          turned ? std::array<std::int64_t, 4>{0, 2, width / 2, -1}
                                 : std::array<std::int64_t, 4>{0, 2, -1, width / 2});
    if (parts[i].empty()) return false;
  }
  std::string scores = g.add(OpKind::kMatMul, {parts[0], parts[1]});
  if (scores.empty()) return false;
  if (random.chance(80)) scores = g.add(OpKind::kMul, {scores, scalar(g, 0.25F)});
  if (!scores.empty()) scores = masked(g, scores);
  if (scores.empty()) return false;
  Attributes axis;
  axis.set("axis", std::int64_t{-1});
  scores = g.add(OpKind::kSoftmax, {scores}, std::move(axis));
  if (!scores.empty() && random.chance(20)) {
    const std::string nan = g.add(OpKind::kIsNaN, {scores});
    if (!nan.empty()) scores = g.add(OpKind::kWhere, {nan, scalar(g, 0.0F), scores});
  }
  if (scores.empty()) return false;
  std::string y = g.add(OpKind::kMatMul, {scores, parts[2]});
  if (!y.empty()) y = g.add(OpKind::kTranspose, {y}, perm({0, 2, 1, 3}));
  const std::array<std::int64_t, 3> joined = {0, 0, width};
  return !y.empty() && !g.add(OpKind::kReshape, {y, g.constant(make_i64(joined))}).empty();
}

bool propose_normalised_sum(Generator& g) {
  const std::string x = g.tensor(DType::kF32, 2, 3);
  const int last = g.rank(x) - 1;
  if (!g.is_fixed(x, last)) return false;
  const std::string y = g.add(OpKind::kAdd, {x, g.partner(x, DType::kF32)});
  if (y.empty()) return false;
  const Dims dims{g.dims(y, 0)[g.rank(y) - 1]};
  const std::string z = g.add(OpKind::kLayerNormalization, {y, g.weights(dims), g.weights(dims)});
  return !z.empty() && !g.add(OpKind::kAdd, {z, y}).empty();
}

/// x / sqrt(mean of x^2 + epsilon) * scale.
bool propose_root_mean_square(Generator& g) {
  const std::string x = g.tensor(DType::kF32, 1, 3);
  const int last = g.rank(x) - 1;
  if (!g.is_fixed(x, last)) return false;
  const std::array<std::int64_t, 1> axis = {-1};
  std::string y = g.add(OpKind::kMul, {x, x});
  if (!y.empty()) y = g.add(OpKind::kReduceMean, {y, g.constant(make_i64(axis))});
  if (!y.empty()) y = g.add(OpKind::kAdd, {y, scalar(g, 1e-3F)});
  if (!y.empty()) y = g.add(OpKind::kSqrt, {y});
  if (!y.empty()) y = g.add(OpKind::kDiv, {x, y});
  return !y.empty() && !g.add(OpKind::kMul, {y, g.weights(Dims{g.dims(x, 0)[last]})}).empty();
}

/// The shape of one tensor, with some arithmetic, as the shape of another.
bool propose_shape_arithmetic(Generator& g) {
  const std::string x = g.numbers(1, 4);
  std::string shape = g.add(OpKind::kShape, {x});
  if (shape.empty()) return false;
  const std::int64_t form = g.random().between(0, 2);
  const std::array<std::int64_t, 1> two = {2}, one = {1};
  if (form == 0) {
    shape = g.add(OpKind::kMul, {shape, g.constant(make_i64(two))});
    if (!shape.empty()) shape = g.add(OpKind::kDiv, {shape, g.constant(make_i64(two))});
  } else if (form == 1) {
    shape = g.add(OpKind::kMax, {shape, g.constant(make_i64(one))});
  }
  if (shape.empty()) return false;
  if (g.random().chance(50)) return !g.add(OpKind::kConstantOfShape, {shape}).empty();
  const std::string other = g.find([&](const std::string& name) {
    for (std::size_t run = 0; run < g.runs(); ++run)
      if (g.dims(name, run).elements() != g.dims(x, run).elements()) return false;
    return true;
  });
  if (!other.empty() && !g.add(OpKind::kReshape, {other, shape}).empty()) return true;
  return !g.add(OpKind::kExpand, {g.constant(DType::kF32, Dims{}), shape}).empty();
}

/// Only running tells how many elements are taken.
bool propose_selection(Generator& g) {
  const std::string x = g.tensor(DType::kF32, 1, 2);
  const std::string chosen = g.add(OpKind::kGreater, {x, scalar(g, 0.0F)});
  if (chosen.empty()) return false;
  std::string where = g.add(OpKind::kNonZero, {chosen});
  if (!where.empty()) where = g.add(OpKind::kTranspose, {where}, perm({1, 0}));
  if (where.empty()) return false;
  const std::string taken = g.add(OpKind::kGatherND, {x, where});
  if (taken.empty()) return false;
  if (g.random().chance(50)) activated(g, taken);
  return true;
}

}  // namespace

bool propose_motif(Generator& g) {
  static constexpr std::array kMotifs = {
      propose_activation,       propose_convolution,    propose_product,
      propose_attention,        propose_normalised_sum, propose_root_mean_square,
      propose_shape_arithmetic, propose_selection,      propose_image_head};
  return g.random().pick(kMotifs)(g);
}

}  // namespace parallax::fuzz
