// Convolutions of sound, images or volumes, and behind them what leaves the rank of images:
// reductions without kept axes, Flatten, Squeeze, Reshape, Gather and Transpose, as detectors and
// classifiers end. Each step is dropped where it does not compute.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

using Numbers = std::vector<std::int64_t>;

Attributes number(const char* name, std::int64_t value) {
  Attributes attributes;
  attributes.set(name, value);
  return attributes;
}

std::string list(Generator& g, const Numbers& numbers) { return g.constant(make_i64(numbers)); }

Numbers spatial_axes(int rank) {
  Numbers axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

/// Images whose channels are as many in all runs; empty where none was found.
std::string images(Generator& g, int rank) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::string x = g.tensor(DType::kF32, rank, rank);
    if (g.is_fixed(x, 1) && g.dims(x, 0)[1] > 0 && g.dims(x, 0)[1] <= 64) return x;
  }
  return {};
}

/// A convolution that keeps height and width.
std::string convolved(Generator& g, const std::string& x, std::int64_t filters) {
  const int rank = g.rank(x);
  const std::int64_t size = g.random().pick(std::array{1, 3});
  Dims dims{filters, g.dims(x, 0)[1]};
  for (int axis = 2; axis < rank; ++axis) dims.push_back(size);
  Attributes pads;
  pads.set("pads", Numbers(static_cast<std::size_t>(2 * (rank - 2)), size / 2));
  return g.add(OpKind::kConv, {x, g.weights(dims)}, std::move(pads));
}

/// Two or three convolutions, what stands between them and behind the last.
std::string island(Generator& g, std::string x) {
  Random& random = g.random();
  const std::int64_t count = random.between(2, 3);
  for (std::int64_t i = 0; i < count && !x.empty(); ++i) {
    const std::string y = convolved(g, x, random.pick(std::array{1, 2, 4, 9, 16}));
    if (y.empty()) return y;
    std::string z;
    if (random.chance(30)) z = g.add(OpKind::kConcat, {x, y}, number("axis", 1));
    if (random.chance(50))
      z = g.add(random.pick(std::array{OpKind::kRelu, OpKind::kSigmoid, OpKind::kAbs}),
                {z.empty() ? y : z});
    x = z.empty() ? y : z;
  }
  return x;
}

std::string reduced(Generator& g, const std::string& x) {
  static constexpr std::array kKinds = {OpKind::kReduceMean, OpKind::kReduceSum,
                                        OpKind::kReduceMax,  OpKind::kReduceL2,
                                        OpKind::kReduceMin,  OpKind::kReduceSumSquare};
  Random& random = g.random();
  const int rank = g.rank(x);
  Numbers axes = rank > 2 ? spatial_axes(rank) : Numbers{rank - 1};
  if (random.chance(35)) {
    axes.clear();
    for (int axis = 0; axis < rank; ++axis)
      if (random.chance(40)) axes.push_back(axis);
    if (axes.empty()) axes = {rank - 1};
  }
  for (std::int64_t& axis : axes)
    if (random.chance(30)) axis -= rank;
  return g.add(random.pick(kKinds), {x, list(g, axes)},
               number("keepdims", random.chance(85) ? 0 : 1));
}

/// The mean or the maximum of an image, without its axes of length one.
std::string pooled(Generator& g, const std::string& x) {
  Random& random = g.random();
  const int rank = g.rank(x);
  const std::string y =
      g.add(random.chance(50) ? OpKind::kGlobalAveragePool : OpKind::kGlobalMaxPool, {x});
  if (y.empty()) return y;
  switch (random.between(0, 2)) {
    case 0:
      return g.add(OpKind::kFlatten, {y});
    case 1:
      return g.add(OpKind::kSqueeze, {y, list(g, spatial_axes(rank))});
    default:
      return g.add(OpKind::kReshape, {y, list(g, {-1, g.dims(y, 0)[1]})});
  }
}

/// A pixel, a row, a channel or a sample of each image.
std::string taken(Generator& g, const std::string& x) {
  Random& random = g.random();
  const std::int64_t axis = random.between(0, g.rank(x) - 1);
  if (random.chance(60))
    return g.add(OpKind::kGather, {x, g.integer(Numbers(g.runs(), 0))}, number("axis", axis));
  const std::string y = g.add(OpKind::kSlice, {x, list(g, {0}), list(g, {1}), list(g, {axis})});
  return y.empty() ? y : g.add(OpKind::kSqueeze, {y, list(g, {axis})});
}

/// The pixels of each channel as one axis. -1 is the batch: as the number of pixels it could be any
/// if there is no image.
std::string joined(Generator& g, const std::string& x) {
  std::int64_t pixels = 1;
  for (int axis = 2; axis < g.rank(x); ++axis)
    pixels *= g.is_fixed(x, axis) ? g.dims(x, 0)[axis] : 0;
  if (pixels == 0) return g.add(OpKind::kFlatten, {x}, number("axis", 2));
  return g.add(OpKind::kReshape, {x, list(g, {-1, g.dims(x, 0)[1], pixels})});
}

std::string head(Generator& g, const std::string& x) {
  Random& random = g.random();
  switch (random.between(0, 9)) {
    case 0:
    case 1:
    case 2:
      return reduced(g, x);
    case 3:
    case 4:
      return pooled(g, x);
    case 5:
    case 6:
      return taken(g, x);
    case 7:
      return g.add(OpKind::kFlatten, {x}, number("axis", random.between(0, g.rank(x))));
    case 8:
      return joined(g, x);
    default:
      return g.add(OpKind::kTranspose, {x});
  }
}

std::string transposed(Generator& g, const std::string& x) {
  if (g.random().chance(25)) return g.add(OpKind::kTranspose, {x});
  Numbers axes(static_cast<std::size_t>(g.rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[g.random().below(i)]);
  Attributes perm;
  perm.set("perm", axes);
  return g.add(OpKind::kTranspose, {x}, std::move(perm));
}

/// One step behind the head.
std::string behind(Generator& g, const std::string& x) {
  Random& random = g.random();
  const int rank = g.rank(x);
  if (rank == 0) return {};
  switch (random.between(0, 7)) {
    case 0:
      return g.add(OpKind::kRelu, {x});
    case 1:
      return g.add(OpKind::kAdd, {x, g.partner(x, DType::kF32)});
    case 2:
      return g.is_fixed(x, rank - 1) && rank > 1
                 ? g.add(OpKind::kMatMul, {x, g.weights(Dims{g.dims(x, 0)[rank - 1], 4})})
                 : std::string();
    case 3:
      return reduced(g, x);
    default:
      return transposed(g, x);
  }
}

}  // namespace

bool propose_image_head(Generator& g) {
  std::string x = images(g, g.random().pick(std::array{3, 3, 4, 4, 4, 5}));
  if (!x.empty()) x = island(g, x);
  if (x.empty()) return false;
  const std::int64_t heads = g.random().chance(30) ? 2 : 1;
  for (std::int64_t i = 0; i < heads; ++i) {
    std::string y = head(g, x);
    const std::int64_t steps = g.random().between(1, 3);
    for (std::int64_t step = 0; step < steps && !y.empty(); ++step) y = behind(g, y);
  }
  return true;
}

}  // namespace parallax::fuzz
