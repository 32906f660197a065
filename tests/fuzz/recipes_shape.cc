// Operators that change shapes or choose elements.
#include <algorithm>
#include <array>
#include <numeric>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

Attributes one(const char* name, std::int64_t value) {
  Attributes attributes;
  attributes.set(name, value);
  return attributes;
}

/// An axis of `x`, counted from either end.
std::int64_t axis_of(Generator& g, const std::string& x, int& axis) {
  axis = static_cast<int>(g.random().below(static_cast<std::size_t>(g.rank(x))));
  return g.random().chance(30) ? axis - g.rank(x) : axis;
}

std::string anything(Generator& g, int min_rank, int max_rank = 4) {
  if (g.random().chance(80)) return g.numbers(min_rank, max_rank);
  return g.tensor(DType::kBool, min_rank, max_rank);
}

/// Some of the numbers 0 to n - 1, in order.
std::vector<std::int64_t> some_of(Generator& g, int n, int percent) {
  std::vector<std::int64_t> result;
  for (int i = 0; i < n; ++i)
    if (g.random().chance(percent)) result.push_back(i);
  return result;
}

Lists repeated(const Generator& g, const std::vector<std::int64_t>& list) {
  return Lists(g.runs(), list);
}

/// A divisor of n, the same one for the same draw.
std::int64_t divisor(std::int64_t n, std::uint64_t draw) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= std::min<std::int64_t>(n, 64); ++d)
    if (n % d == 0) divisors.push_back(d);
  return divisors.empty() ? 1 : divisors[draw % divisors.size()];
}

}  // namespace

bool propose_reshape(Generator& g, OpKind op) {
  const std::string x = anything(g, 0, 5);
  Random& random = g.random();
  const auto axes = static_cast<std::size_t>(random.between(0, 4));
  std::vector<std::uint64_t> draws(axes);
  for (std::uint64_t& draw : draws) draw = random.next();
  const bool open = axes > 0 && random.chance(50);
  const std::size_t free = axes > 0 ? random.below(axes) : 0;
  const bool copies = axes > 0 && g.rank(x) > 0 && random.chance(25);
  Lists wanted(g.runs());
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Dims& dims = g.dims(x, run);
    std::int64_t left = dims.elements();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      std::int64_t size = axis + 1 == axes ? left : (left == 0 ? 0 : divisor(left, draws[axis]));
      if (axis == 0 && copies) size = dims[0];
      if (size > 0 && left % size == 0) left /= size;
      wanted[run].push_back(axis == 0 && copies ? 0 : size);
    }
    if (open) wanted[run][free] = -1;
  }
  return !g.add(op, {x, g.integers(wanted)}).empty();
}

bool propose_squeeze(Generator& g, OpKind op) {
  const std::string x = g.find([&](const std::string& name) {
    for (int axis = 0; axis < g.rank(name); ++axis)
      if (g.dims(name, 0)[axis] == 1) return true;
    return false;
  });
  if (x.empty()) return false;
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < g.rank(x); ++axis)
    if (g.dims(x, 0)[axis] == 1 && g.random().chance(80)) axes.push_back(axis);
  if (axes.empty() || g.random().chance(20)) return !g.add(op, {x}).empty();
  return !g.add(op, {x, g.constant(make_i64(axes))}).empty();
}

bool propose_unsqueeze(Generator& g, OpKind op) {
  const std::string x = anything(g, 0);
  std::vector<std::int64_t> axes = some_of(g, g.rank(x) + 1, 40);
  if (axes.empty()) axes.push_back(g.random().chance(50) ? 0 : -1);
  return !g.add(op, {x, g.constant(make_i64(axes))}).empty();
}

bool propose_flatten(Generator& g, OpKind op) {
  const std::string x = anything(g, 0);
  return !g.add(op, {x}, one("axis", g.random().between(-g.rank(x), g.rank(x)))).empty();
}

bool propose_transpose(Generator& g, OpKind op) {
  const std::string x = anything(g, 0, 5);
  std::vector<std::int64_t> perm(static_cast<std::size_t>(g.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  for (std::size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[g.random().below(i)]);
  Attributes attributes;
  if (g.random().chance(85)) attributes.set("perm", perm);
  return !g.add(op, {x}, std::move(attributes)).empty();
}

bool propose_concat(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  int axis = 0;
  const std::int64_t stated = axis_of(g, x, axis);
  const auto fits = [&](const std::string& name) {
    if (g.dtype(name) != g.dtype(x) || g.rank(name) != g.rank(x)) return false;
    for (int a = 0; a < g.rank(x); ++a)
      if (a != axis && g.sizes(name, a) != g.sizes(x, a)) return false;
    return true;
  };
  std::vector<std::string> inputs = {x};
  const std::int64_t parts = g.random().between(0, 3);
  for (std::int64_t i = 0; i < parts; ++i) {
    std::string other = g.find(fits);  // at least x itself
    if (g.random().chance(30)) {
      Lists dims(g.runs());
      const std::int64_t length = g.random().between(0, 3);
      for (std::size_t run = 0; run < g.runs(); ++run) {
        dims[run].assign(g.dims(x, run).begin(), g.dims(x, run).end());
        dims[run][static_cast<std::size_t>(axis)] = length;
      }
      other = g.input(g.dtype(x), dims);
    }
    inputs.push_back(std::move(other));
  }
  return !g.add(op, std::move(inputs), one("axis", stated)).empty();
}

bool propose_expand(Generator& g, OpKind op) {
  const std::string x = anything(g, 0);
  Random& random = g.random();
  const std::int64_t lead = random.between(0, 1), size = random.between(1, 4);
  const auto ones = some_of(g, g.rank(x), 50);
  Lists wanted(g.runs());
  for (std::size_t run = 0; run < g.runs(); ++run) {
    if (lead > 0) wanted[run].push_back(size);
    for (const std::int64_t dim : g.dims(x, run)) wanted[run].push_back(dim == 1 ? size : dim);
    for (const std::int64_t axis : ones)
      wanted[run][static_cast<std::size_t>(axis + lead)] = size > 2 ? size : 1;
  }
  return !g.add(op, {x, g.integers(wanted)}).empty();
}

bool propose_tile(Generator& g, OpKind op) {
  const std::string x = anything(g, 0);
  Lists wanted(g.runs());
  for (int axis = 0; axis < g.rank(x); ++axis) {
    const std::int64_t repeats = g.random().chance(10) ? 0 : g.random().between(1, 3);
    const bool varies = g.random().chance(20);
    for (auto& list : wanted) list.push_back(varies ? g.random().between(1, 3) : repeats);
  }
  return !g.add(op, {x, g.integers(wanted)}).empty();
}

bool propose_pad(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  Random& random = g.random();
  auto axes = some_of(g, g.rank(x), 60);
  const bool listed = random.chance(25) && !axes.empty();
  if (!listed) {
    axes.resize(static_cast<std::size_t>(g.rank(x)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<std::int64_t> pads(2 * axes.size());
  for (std::int64_t& pad : pads) pad = random.chance(50) ? 0 : random.between(-1, 2);
  Attributes attributes;
  if (random.chance(50))
    attributes.set("mode", std::string(random.pick(std::array{"constant", "reflect", "edge"})));
  std::vector<std::string> inputs = {x, g.integers(repeated(g, pads)), "", ""};
  if (random.chance(50)) inputs[2] = g.constant(g.dtype(x), Dims{});
  if (listed) inputs[3] = g.constant(make_i64(axes));
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_slice(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  Random& random = g.random();
  auto axes = some_of(g, g.rank(x), 60);
  if (axes.empty()) axes.push_back(0);
  const bool listed = random.chance(80);
  Lists starts(g.runs()), ends(g.runs());
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!listed) axes[i] = static_cast<std::int64_t>(i);
    steps.push_back(random.chance(70) ? 1 : random.pick(std::array{2, 3, -1, -2}));
    const bool back = steps.back() < 0;
    std::int64_t start = random.between(-3, 3), end = random.chance(40) ? 1 << 30 : start + 3;
    if (random.chance(40)) start = back ? -1 : 0;
    if (back) end = random.chance(50) ? -(std::int64_t{1} << 40) : start - 3;
    const bool varies = random.chance(20);
    for (std::size_t run = 0; run < g.runs(); ++run) {
      const std::int64_t more = varies ? random.between(-1, 1) : 0;
      starts[run].push_back(start + more);
      ends[run].push_back(random.chance(90) || varies ? end : end);
    }
    if (random.chance(20)) axes[i] -= listed ? g.rank(x) : 0;
  }
  const DType dtype = random.chance(80) ? DType::kI64 : DType::kI32;
  if (dtype == DType::kI32)
    for (auto& list : ends)
      for (auto& end : list) end = std::clamp<std::int64_t>(end, -(1 << 30), 1 << 30);
  const bool stepped = random.chance(50);
  std::vector<std::string> inputs = {x, g.integers(starts, dtype), g.integers(ends, dtype), "", ""};
  if (listed || stepped) {
    const auto list = repeated(g, axes);
    inputs[3] = random.chance(90) && dtype == DType::kI64 ? g.constant(make_i64(axes))
                                                          : g.integers(list, dtype);
  }
  if (stepped) inputs[4] = g.integers(repeated(g, steps), dtype);
  return !g.add(op, std::move(inputs)).empty();
}

bool propose_split(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  Random& random = g.random();
  int axis = 0;
  CaseNode node{op, one("axis", axis_of(g, x, axis)), {x}, {}, {}};
  const std::int64_t parts = random.between(1, 4);
  node.outputs.resize(static_cast<std::size_t>(parts));
  if (random.chance(50)) {
    node.attributes.set("num_outputs", parts);
  } else {
    Lists sizes(g.runs());
    for (std::size_t run = 0; run < g.runs(); ++run) {
      std::int64_t left = g.dims(x, run)[axis];
      for (std::int64_t i = 0; i + 1 < parts; ++i) {
        sizes[run].push_back(left / 2);
        left -= left / 2;
      }
      sizes[run].push_back(left);
    }
    node.inputs.push_back(g.integers(sizes));
  }
  return g.add(node);
}

bool propose_gather(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  int axis = 0;
  const std::int64_t stated = axis_of(g, x, axis);
  Dims shape;
  const std::int64_t rank = g.random().between(0, 2);
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(g.random().between(1, 3));
  Lists indices(g.runs());
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t draw = g.random().between(0, 1 << 20);
    for (std::size_t run = 0; run < g.runs(); ++run) {
      const std::int64_t length = std::max<std::int64_t>(g.dims(x, run)[axis], 1);
      indices[run].push_back(draw % (2 * length) - length);
    }
  }
  const DType dtype = g.random().chance(80) ? DType::kI64 : DType::kI32;
  return !g.add(op, {x, g.integers(indices, dtype, shape)}, one("axis", stated)).empty();
}

namespace {

/// Indices of `length` numbers into the axes of `x` from `batch` on, one row per element of `rows`.
std::string nd_indices(Generator& g, const std::string& x, int batch, int length, Dims rows) {
  Lists indices(g.runs());
  const std::int64_t count = rows.elements();
  for (std::int64_t i = 0; i < count * length; ++i) {
    const std::int64_t draw = g.random().between(0, 1 << 20);
    for (std::size_t run = 0; run < g.runs(); ++run) {
      const int axis = batch + static_cast<int>(i % length);
      indices[run].push_back(draw % std::max<std::int64_t>(g.dims(x, run)[axis], 1));
    }
  }
  rows.push_back(length);
  return g.integers(indices, DType::kI64, rows);
}

}  // namespace

bool propose_gather_nd(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  const bool batched = g.rank(x) > 1 && g.is_fixed(x, 0) && g.random().chance(30);
  const int batch = batched ? 1 : 0;
  const int length = static_cast<int>(g.random().between(1, g.rank(x) - batch));
  Dims rows;
  if (batched) rows.push_back(g.dims(x, 0)[0]);
  if (g.random().chance(70)) rows.push_back(g.random().between(1, 4));
  Attributes attributes;
  if (batched) attributes.set("batch_dims", std::int64_t{1});
  return !g.add(op, {x, nd_indices(g, x, batch, length, rows)}, std::move(attributes)).empty();
}

bool propose_scatter_nd(Generator& g, OpKind op) {
  const std::string x = anything(g, 1);
  const int length = static_cast<int>(g.random().between(1, g.rank(x)));
  const std::int64_t rows = g.random().between(1, 3);
  const std::string indices = nd_indices(g, x, 0, length, Dims{rows});
  Lists dims(g.runs(), {rows});
  for (std::size_t run = 0; run < g.runs(); ++run)
    for (int axis = length; axis < g.rank(x); ++axis) dims[run].push_back(g.dims(x, run)[axis]);
  Attributes attributes;
  if (g.random().chance(50))
    attributes.set("reduction",
                   std::string(g.random().pick(std::array{"add", "mul", "max", "min", "none"})));
  return !g.add(op, {x, indices, g.input(g.dtype(x), dims)}, std::move(attributes)).empty();
}

bool propose_range(Generator& g, OpKind op) {
  Random& random = g.random();
  if (random.chance(20)) {
    const auto start = static_cast<float>(random.between(-2, 2));
    return !g.add(op, {g.floats({start}, Dims{}), g.floats({start + 3.5F}, Dims{}),
                       g.floats({random.chance(50) ? 0.5F : 1.0F}, Dims{})})
                .empty();
  }
  const DType dtype = random.chance(80) ? DType::kI64 : DType::kI32;
  std::array<Lists, 3> bounds;
  const std::int64_t step = random.pick(std::array{1, 1, 2, -1});
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const std::int64_t start = random.between(-2, 2);
    bounds[0].push_back({start});
    bounds[1].push_back({start + step * random.between(-1, 6)});
    bounds[2].push_back({step});
  }
  std::vector<std::string> inputs;
  for (const Lists& bound : bounds) inputs.push_back(g.integers(bound, dtype, Dims{}));
  return !g.add(op, std::move(inputs)).empty();
}

bool propose_constant_of_shape(Generator& g, OpKind op) {
  Random& random = g.random();
  Lists dims(g.runs());
  const std::int64_t rank = random.between(0, 3);
  for (std::int64_t i = 0; i < rank; ++i) {
    std::vector<std::int64_t> sizes(g.runs(), random.between(0, 5));
    const std::string like = g.find([&](const std::string& name) { return g.rank(name) > 0; });
    if (random.chance(50) && !like.empty()) sizes = g.sizes(like, 0);
    for (std::size_t run = 0; run < g.runs(); ++run) dims[run].push_back(sizes[run]);
  }
  Attributes attributes;
  static constexpr std::array kTypes = {DType::kF32, DType::kI64, DType::kI32, DType::kBool};
  if (random.chance(80)) attributes.set("value", g.random_constant(random.pick(kTypes), Dims{1}));
  return !g.add(op, {g.integers(dims)}, std::move(attributes)).empty();
}

bool propose_shape(Generator& g, OpKind op) {
  const std::string x = anything(g, 0, 5);
  Attributes attributes;
  if (g.random().chance(30)) attributes.set("start", g.random().between(-2, 2));
  if (g.random().chance(30)) attributes.set("end", g.random().between(-2, 4));
  return !g.add(op, {x}, std::move(attributes)).empty();
}

}  // namespace parallax::fuzz
