// Operators that choose, scatter or mark elements, rearrange blocks, or draw random numbers.
#include <algorithm>
#include <array>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

std::string some_tensor(Generator& g, int min_rank, int max_rank) {
  if (g.random().chance(80)) return g.numbers(min_rank, max_rank);
  return g.tensor(DType::kBool, min_rank, max_rank);
}

std::int64_t some_axis(Generator& g, const std::string& x, int& axis) {
  axis = static_cast<int>(g.random().below(static_cast<std::size_t>(g.rank(x))));
  return g.random().chance(30) ? axis - g.rank(x) : axis;
}

Attributes with(const char* name, std::int64_t value) {
  Attributes attributes;
  attributes.set(name, value);
  return attributes;
}

/// Sometimes each of these flags.
void set_flags(Generator& g, Attributes& attributes, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (g.random().chance(40)) attributes.set(name, g.random().between(0, 1));
}

/// What chooses elements along `axis` of `x`: lists of indices that leave the other axes as they
/// are, and their dimensions per run.
struct Chosen {
  std::string indices;
  Lists dims;
};

Chosen choose_elements(Generator& g, const std::string& x, int axis) {
  Chosen chosen;
  chosen.dims.resize(g.runs());
  Lists indices(g.runs());
  const std::int64_t length = g.random().between(0, 3);
  const std::uint64_t seed = g.random().next();
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Dims& dims = g.dims(x, run);
    for (int d = 0; d < dims.rank(); ++d)
      chosen.dims[run].push_back(d == axis ? length : std::min<std::int64_t>(dims[d], 4));
    const std::int64_t size = std::max<std::int64_t>(dims[axis], 1);
    const std::int64_t count = Dims(chosen.dims[run]).elements();
    for (std::int64_t i = 0; i < count; ++i)
      indices[run].push_back(
          static_cast<std::int64_t>((seed >> (i % 48)) % static_cast<std::uint64_t>(2 * size)) -
          size);
  }
  const bool same = std::ranges::all_of(
      chosen.dims, [&](const auto& list) { return list == chosen.dims.front(); });
  if (same) chosen.indices = g.integers(indices, DType::kI64, Dims(chosen.dims.front()));
  return chosen;
}

/// An image whose channels, height and width are multiples of these.
std::string blocks_image(Generator& g, std::int64_t channels, std::int64_t side) {
  Random& random = g.random();
  const std::vector<std::int64_t> dims = {random.between(0, 2), channels * random.between(1, 3),
                                          side * random.between(1, 3), side * random.between(1, 3)};
  return g.input(random.chance(80) ? DType::kF32 : DType::kU8, Lists(g.runs(), dims));
}

}  // namespace

bool propose_gather_elements(Generator& g, OpKind op) {
  const std::string x = some_tensor(g, 1, 4);
  int axis = 0;
  const std::int64_t stated = some_axis(g, x, axis);
  const Chosen chosen = choose_elements(g, x, axis);
  if (chosen.indices.empty()) return false;
  return !g.add(op, {x, chosen.indices}, with("axis", stated)).empty();
}

bool propose_scatter_elements(Generator& g, OpKind op) {
  const std::string x = some_tensor(g, 1, 4);
  int axis = 0;
  Attributes attributes = with("axis", some_axis(g, x, axis));
  const Chosen chosen = choose_elements(g, x, axis);
  if (chosen.indices.empty()) return false;
  if (g.dtype(x) != DType::kBool && g.random().chance(70))
    attributes.set("reduction",
                   std::string(g.random().pick(std::array{"add", "mul", "max", "min", "none"})));
  return !g.add(op, {x, chosen.indices, g.input(g.dtype(x), chosen.dims)}, std::move(attributes))
              .empty();
}

bool propose_tensor_scatter(Generator& g, OpKind op) {
  const std::string x = g.tensor(DType::kF32, 2, 4);
  const bool circular = g.random().chance(50);
  const int axis = static_cast<int>(g.random().between(1, g.rank(x) - 1));
  Lists update(g.runs()), starts(g.runs());
  const std::int64_t wanted = g.random().between(0, 2);
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Dims& dims = g.dims(x, run);
    update[run].assign(dims.begin(), dims.end());
    const std::int64_t length = std::min(wanted, dims[axis]);
    update[run][static_cast<std::size_t>(axis)] = length;
    starts[run].assign(static_cast<std::size_t>(dims[0]), circular ? 7 : dims[axis] - length);
  }
  Attributes attributes = with("axis", axis);
  if (circular) attributes.set("mode", std::string("circular"));
  std::vector<std::string> inputs = {x, g.input(DType::kF32, update)};
  if (g.random().chance(70)) inputs.push_back(g.integers(starts));
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_one_hot(Generator& g, OpKind op) {
  const std::string x = g.find([&](const std::string& name) {
    return g.dtype(name) == DType::kI64 || g.dtype(name) == DType::kI32;
  });
  const std::string indices = x.empty() ? g.tensor(DType::kI64, 0, 3) : x;
  const std::vector<std::int64_t> depth(g.runs(), g.random().between(1, 5));
  const DType type = g.random().chance(70) ? DType::kF32 : DType::kI64;
  const std::string values = g.constant(type, Dims{2});
  const std::int64_t axis = g.random().between(-g.rank(indices) - 1, g.rank(indices));
  return !g.add(op, {indices, g.integer(depth), values}, with("axis", axis)).empty();
}

bool propose_eye_like(Generator& g, OpKind op) {
  Attributes attributes = with("k", g.random().between(-2, 2));
  if (g.random().chance(50)) attributes.set("dtype", std::int64_t{7});
  return !g.add(op, {g.numbers(2, 2)}, std::move(attributes)).empty();
}

bool propose_trilu(Generator& g, OpKind op) {
  std::vector<std::string> inputs = {some_tensor(g, 2, 4)};
  if (g.random().chance(70))
    inputs.push_back(g.integer(std::vector<std::int64_t>(g.runs(), g.random().between(-3, 3))));
  Attributes attributes;
  set_flags(g, attributes, {"upper"});
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_compress(Generator& g, OpKind op) {
  const std::string x = some_tensor(g, 1, 4);
  int axis = 0;
  const std::int64_t stated = some_axis(g, x, axis);
  const bool flat = g.random().chance(30);
  std::int64_t length = 4;
  for (std::size_t run = 0; run < g.runs(); ++run)
    length = std::min(length, flat ? g.dims(x, run).elements() : g.dims(x, run)[axis]);
  const std::string condition = g.constant(DType::kBool, Dims{length});
  return !g.add(op, {x, condition}, flat ? Attributes{} : with("axis", stated)).empty();
}

bool propose_unique(Generator& g, OpKind op) {
  const std::string x = g.numbers(1, 3);
  CaseNode node{op, {}, {x}, {"", "", "", ""}, {}};
  int axis = 0;
  if (g.random().chance(50)) node.attributes.set("axis", some_axis(g, x, axis));
  set_flags(g, node.attributes, {"sorted"});
  return g.add(node);
}

bool propose_space_blocks(Generator& g, OpKind op) {
  const std::int64_t block = g.random().between(1, 3);
  const bool to_space = op == OpKind::kDepthToSpace;
  Attributes attributes = with("blocksize", block);
  if (g.random().chance(60))
    attributes.set("mode", std::string(g.random().chance(50) || !to_space ? "DCR" : "CRD"));
  const std::string x = blocks_image(g, to_space ? block * block : 1, to_space ? 1 : block);
  return !g.add(op, {x}, std::move(attributes)).empty();
}

bool propose_reverse_sequence(Generator& g, OpKind op) {
  const std::string x = some_tensor(g, 2, 4);
  const std::int64_t batch = g.random().between(0, 1);
  Lists lengths(g.runs());
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Dims& dims = g.dims(x, run);
    const std::int64_t most = dims[batch == 0 ? 1 : 0];
    for (std::int64_t i = 0; i < dims[static_cast<int>(batch)]; ++i)
      lengths[run].push_back(most == 0 ? 0 : 1 + i % most);
  }
  Attributes attributes = with("batch_axis", batch);
  attributes.set("time_axis", 1 - batch);
  return !g.add(op, {x, g.integers(lengths)}, std::move(attributes)).empty();
}

/// Blocks that lie side by side or overlap, without padding.
bool propose_col2im(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::int64_t height = random.between(2, 5), width = random.between(2, 5);
  const std::int64_t rows = random.between(1, 2), columns = random.between(1, 2);
  const std::vector<std::int64_t> dims = {random.between(1, 2),
                                          rows * columns * random.between(1, 2),
                                          (height - rows + 1) * (width - columns + 1)};
  const std::vector<std::int64_t> image = {height, width}, block = {rows, columns};
  return !g.add(op, {g.input(DType::kF32, Lists(g.runs(), dims)),
                     g.integers(Lists(g.runs(), image)), g.constant(make_i64(block))})
              .empty();
}

bool propose_cumulative(Generator& g, OpKind op) {
  const std::string x = g.numbers(1, 4);
  int axis = 0;
  const std::vector<std::int64_t> stated(g.runs(), some_axis(g, x, axis));
  Attributes attributes;
  set_flags(g, attributes, {"exclusive", "reverse"});
  return !g.add(op, {x, g.integer(stated)}, std::move(attributes)).empty();
}

bool propose_bit_shift(Generator& g, OpKind op) {
  const std::string x = g.tensor(DType::kI64, 0, 3);
  Attributes attributes;
  attributes.set("direction", std::string(g.random().chance(50) ? "LEFT" : "RIGHT"));
  return !g.add(op, {x, g.partner(x, DType::kI64)}, std::move(attributes)).empty();
}

bool propose_bitwise(Generator& g, OpKind op) {
  const std::string x = g.tensor(g.random().chance(50) ? DType::kI64 : DType::kI32, 0, 4);
  if (op == OpKind::kBitwiseNot) return !g.add(op, {x}).empty();
  return !g.add(op, {x, g.partner(x, g.dtype(x))}).empty();
}

/// With a seed: without one the numbers depend on how nodes are called.
bool propose_random(Generator& g, OpKind op) {
  Attributes attributes;
  attributes.set("seed", static_cast<float>(g.random().between(0, 9)));
  std::vector<std::string> inputs;
  if (op == OpKind::kRandomUniform || op == OpKind::kRandomNormal) {
    attributes.set("shape", std::vector<std::int64_t>{g.random().between(0, 3), 4});
  } else {
    const bool choice = op == OpKind::kMultinomial;
    inputs.push_back(g.tensor(DType::kF32, choice ? 2 : 0, choice ? 2 : 4));
  }
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_dropout(Generator& g, OpKind op) {
  CaseNode node{
      op, with("seed", g.random().between(0, 9)), {g.tensor(DType::kF32, 0, 4)}, {"", ""}, {}};
  node.inputs.push_back(g.floats({g.random().chance(50) ? 0.0F : 0.5F}, Dims{}));
  node.inputs.push_back(g.constant(DType::kBool, Dims{}));
  return g.add(node);
}

}  // namespace parallax::fuzz
