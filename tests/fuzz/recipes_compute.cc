// Operators that compute: products, images, normalisation, reductions, selection.
#include <algorithm>
#include <array>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

std::int64_t stated(Generator& g, int axis, int rank) {
  return g.random().chance(30) ? axis - rank : axis;
}

/// A float tensor whose `axis` has one size in all runs, made where none is there.
std::string with_fixed(Generator& g, int min_rank, int max_rank, int axis) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto x = g.tensor(DType::kF32, min_rank, max_rank);
    if (g.is_fixed(x, axis)) return x;
  }
  Lists dims(g.runs());
  const std::int64_t rank = g.random().between(min_rank, max_rank);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = g.random().between(1, 8);
    for (auto& list : dims) list.push_back(size);
  }
  return g.input(DType::kF32, dims);
}

/// ONNX Runtime's products of nothing are not 0.
bool is_sum_of_nothing(Generator& g, const std::vector<std::int64_t>& inner) {
  return !g.special() && std::ranges::find(inner, 0) != inner.end();
}

/// A constant, or a tensor that is there and has these dimensions.
std::string weight(Generator& g, const Dims& dims) {
  if (g.random().chance(20)) {
    auto found = g.find([&](const std::string& name) {
      if (g.dtype(name) != DType::kF32) return false;
      for (std::size_t run = 0; run < g.runs(); ++run)
        if (!(g.dims(name, run) == dims)) return false;
      return true;
    });
    if (!found.empty()) return found;
  }
  return g.weights(dims);
}

void set_windows(Generator& g, CaseNode& node, std::size_t axes, std::int64_t most_pad) {
  Random& random = g.random();
  const auto list = [&](const char* name, std::size_t count, std::int64_t low, std::int64_t high,
                        int percent) {
    if (!random.chance(percent)) return;
    std::vector<std::int64_t> values(count);
    for (std::int64_t& value : values) value = random.between(low, high);
    node.attributes.set(name, values);
  };
  list("strides", axes, 1, 3, 40);
  list("dilations", axes, 1, 2, 15);
  // ONNX Runtime does not follow the standard with the others.
  const bool follows = node.attributes.empty() || g.special();
  if (random.chance(follows ? 25 : 0)) {
    node.attributes.set("auto_pad",
                        std::string(random.pick(std::array{"SAME_UPPER", "SAME_LOWER", "VALID"})));
  } else {
    list("pads", 2 * axes, 0, most_pad, 50);
  }
}

}  // namespace

bool propose_conv(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string x = with_fixed(g, 3, random.chance(85) ? 4 : 5, 1);
  const std::int64_t channels = g.dims(x, 0)[1];
  if (channels == 0) return false;
  std::int64_t group = 1;
  if (random.chance(25)) group = channels;
  if (random.chance(15) && channels % 2 == 0) group = 2;
  const std::int64_t filters = group * random.between(1, group == 1 ? 20 : 2);
  Dims dims{filters, channels / group};
  const auto axes = static_cast<std::size_t>(g.rank(x) - 2);
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 0; i < axes; ++i) kernel.push_back(random.pick(std::array{1, 1, 2, 3, 3}));
  for (const std::int64_t size : kernel) dims.push_back(size);
  CaseNode node{op, {}, {x, weight(g, dims)}, {""}, {}};
  if (random.chance(60)) node.inputs.push_back(weight(g, Dims{filters}));
  set_windows(g, node, axes, 2);
  if (group != 1 || random.chance(20)) node.attributes.set("group", group);
  if (random.chance(50)) node.attributes.set("kernel_shape", kernel);
  return g.add(node);
}

bool propose_pool(Generator& g, OpKind op) {
  Random& random = g.random();
  const bool bytes = op == OpKind::kMaxPool && random.chance(15);
  const std::string x =
      g.tensor(bytes ? random.pick(std::array{DType::kU8, DType::kI8}) : DType::kF32, 3,
               random.chance(85) ? 4 : 5);
  CaseNode node{op, {}, {x}, {""}, {}};
  const auto axes = static_cast<std::size_t>(g.rank(x) - 2);
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 0; i < axes; ++i) kernel.push_back(random.between(1, 3));
  const std::int64_t least = *std::ranges::min_element(kernel);
  set_windows(g, node, axes, least - 1);
  node.attributes.set("kernel_shape", kernel);
  if (random.chance(25)) node.attributes.set("ceil_mode", std::int64_t{1});
  if (op == OpKind::kAveragePool && random.chance(40))
    node.attributes.set("count_include_pad", std::int64_t{1});
  return g.add(node);
}

bool propose_global_pool(Generator& g, OpKind op) {
  return !g.add(op, {g.tensor(DType::kF32, 3, 5)}).empty();
}

bool propose_batch_normalization(Generator& g, OpKind op) {
  const std::string x = with_fixed(g, 2, 4, 1);
  const Dims dims{g.dims(x, 0)[1]};
  std::vector<std::string> inputs = {x};
  for (int i = 0; i < 3; ++i) inputs.push_back(weight(g, dims));
  std::vector<float> variance(static_cast<std::size_t>(dims[0]));
  for (float& v : variance) v = 0.25F + static_cast<float>(g.random().unit());
  inputs.push_back(g.floats(variance, dims));
  Attributes attributes;
  if (g.random().chance(50)) attributes.set("epsilon", 1e-3F);
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_layer_normalization(Generator& g, OpKind op) {
  const std::string x = with_fixed(g, 1, 4, 0);
  const int rank = g.rank(x);
  int axis = rank - 1;
  if (!g.is_fixed(x, axis)) return false;
  while (axis > 0 && g.is_fixed(x, axis - 1) && g.random().chance(30)) --axis;
  Dims dims;
  for (int i = axis; i < rank; ++i) dims.push_back(g.dims(x, 0)[i]);
  Attributes attributes;
  if (axis != rank - 1 || g.random().chance(50)) attributes.set("axis", stated(g, axis, rank));
  if (g.random().chance(50)) attributes.set("epsilon", 1e-3F);
  std::vector<std::string> inputs = {x, weight(g, dims)};
  if (op == OpKind::kLayerNormalization && g.random().chance(60)) inputs.push_back(weight(g, dims));
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_softmax(Generator& g, OpKind op) {
  const std::string x = g.tensor(DType::kF32, 1, 4);
  Attributes attributes;
  if (g.random().chance(70)) {
    const auto axis = g.random().below(static_cast<std::size_t>(g.rank(x)));
    attributes.set("axis", stated(g, static_cast<int>(axis), g.rank(x)));
  }
  return !g.add(op, {x}, std::move(attributes)).empty();
}

bool propose_matmul(Generator& g, OpKind op) {
  Random& random = g.random();
  const DType dtype = random.chance(85) ? DType::kF32 : DType::kI32;
  const std::string a = g.tensor(dtype, 1, 4);
  const std::vector<std::int64_t> inner = g.sizes(a, g.rank(a) - 1);
  if (is_sum_of_nothing(g, inner)) return false;
  const auto fits = [&](const std::string& b) {
    return g.dtype(b) == dtype && g.rank(b) > 0 && g.sizes(b, std::max(0, g.rank(b) - 2)) == inner;
  };
  if (random.chance(50)) {
    const std::string b = g.find(fits);
    if (!b.empty() && !g.add(op, {a, b}).empty()) return true;
  }
  Lists dims(g.runs());
  const std::int64_t columns = random.pick(std::array{1, 2, 3, 8, 17});
  const bool batched = random.chance(25) && g.rank(a) > 2;
  for (std::size_t run = 0; run < g.runs(); ++run) {
    if (batched) dims[run].push_back(g.dims(a, run)[g.rank(a) - 3]);
    dims[run].push_back(inner[run]);
    if (columns > 1 || batched) dims[run].push_back(columns);
  }
  const bool fixed = std::ranges::all_of(dims, [&](const auto& d) { return d == dims[0]; });
  const std::string b =
      fixed && random.chance(70) ? g.constant(dtype, Dims(dims[0])) : g.input(dtype, dims);
  return !g.add(op, {a, b}).empty();
}

bool propose_gemm(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string a = g.tensor(DType::kF32, 2, 2);
  const bool trans_a = random.chance(30), trans_b = random.chance(40);
  const auto inner = g.sizes(a, trans_a ? 0 : 1);
  if (is_sum_of_nothing(g, inner)) return false;
  const std::int64_t columns = random.pick(std::array{1, 2, 3, 8, 17});
  Lists dims(g.runs());
  for (std::size_t run = 0; run < g.runs(); ++run)
    dims[run] = trans_b ? std::vector{columns, inner[run]} : std::vector{inner[run], columns};
  const bool fixed = std::ranges::all_of(dims, [&](const auto& d) { return d == dims[0]; });
  std::vector<std::string> inputs = {
      a, fixed ? g.constant(DType::kF32, Dims(dims[0])) : g.input(DType::kF32, dims)};
  if (random.chance(60)) {
    static const std::array kForms = {Dims{}, Dims{1}, Dims{1, 1}};
    inputs.push_back(
        g.constant(DType::kF32, random.chance(60) ? Dims{columns} : random.pick(kForms)));
  }
  Attributes attributes;
  if (trans_a) attributes.set("transA", std::int64_t{1});
  if (trans_b) attributes.set("transB", std::int64_t{1});
  if (random.chance(30)) attributes.set("alpha", 0.5F);
  if (random.chance(30)) attributes.set("beta", 2.0F);
  return !g.add(op, std::move(inputs), std::move(attributes)).empty();
}

bool propose_resize(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string x = random.chance(80) ? g.tensor(DType::kF32, 3, 4) : g.numbers(1, 4);
  const int rank = g.rank(x);
  CaseNode node{op, {}, {x, "", "", ""}, {""}, {}};
  const int first = random.chance(80) ? std::min(2, rank - 1) : 0;
  std::vector<std::int64_t> axes;
  if (random.chance(25))
    for (int axis = first; axis < rank; ++axis) axes.push_back(axis);
  const std::size_t count = axes.empty() ? static_cast<std::size_t>(rank) : axes.size();
  const std::size_t same = axes.empty() ? static_cast<std::size_t>(first) : 0;
  const bool linear = random.chance(50);
  if (random.chance(50)) {
    std::vector<float> scales(count, 1.0F);
    bool changes = g.special();  // ONNX Runtime copies where no size changes, whatever the scales
    // The nearest to 19.5 / 1.3F - 0.5 is one or the other element, as the quotient is rounded.
    for (std::size_t i = same; i < count; ++i)
      scales[i] = random.pick(std::array{0.5F, 1.0F, 1.5F, 2.0F, 3.0F, linear ? 1.3F : 2.5F});
    for (const float scale : scales) changes = changes || scale >= 2 || scale < 1;
    if (!changes) return false;
    node.inputs[2] = g.floats(scales, Dims{static_cast<std::int64_t>(count)});
  } else {
    Lists sizes(g.runs());
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t size = random.between(1, 9);
      for (std::size_t run = 0; run < g.runs(); ++run)
        sizes[run].push_back(i < same ? g.dims(x, run)[static_cast<int>(i)] : size);
    }
    node.inputs[3] = g.integers(sizes);
  }
  if (!axes.empty()) node.attributes.set("axes", axes);
  if (linear) node.attributes.set("mode", std::string("linear"));
  if (random.chance(60))
    node.attributes.set(
        "coordinate_transformation_mode",
        std::string(random.pick(std::array{"half_pixel", "half_pixel_symmetric",
                                           "pytorch_half_pixel", "align_corners", "asymmetric"})));
  if (!linear && random.chance(60))
    node.attributes.set("nearest_mode",
                        std::string(random.pick(std::array{"round_prefer_floor",
                                                           "round_prefer_ceil", "floor", "ceil"})));
  return g.add(node);
}

namespace {

/// Numbers to reduce. ONNX Runtime gives reduced tensors without elements shapes of its own.
std::string reduced(Generator& g, int min_rank, int max_rank) {
  const std::string x = g.numbers(min_rank, max_rank);
  for (std::size_t run = 0; run < g.runs() && !g.special(); ++run)
    if (g.dims(x, run).elements() == 0) return {};
  return x;
}

}  // namespace

bool propose_reduce(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string x = reduced(g, 0, 5);
  if (x.empty()) return false;
  const int rank = g.rank(x);
  CaseNode node{op, {}, {x}, {""}, {}};
  if (random.chance(80)) {
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis)
      if (random.chance(50)) axes.push_back(stated(g, axis, rank));
    node.inputs.push_back(g.integers(Lists(g.runs(), axes)));
  }
  if (random.chance(60)) node.attributes.set("keepdims", random.between(0, 1));
  if (random.chance(20)) node.attributes.set("noop_with_empty_axes", random.between(0, 1));
  return g.add(node);
}

bool propose_arg_max(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string x = reduced(g, 1, 4);
  if (x.empty()) return false;
  Attributes attributes;
  const auto axis = static_cast<int>(random.below(static_cast<std::size_t>(g.rank(x))));
  if (random.chance(80)) attributes.set("axis", stated(g, axis, g.rank(x)));
  if (random.chance(50)) attributes.set("keepdims", random.between(0, 1));
  if (random.chance(30)) attributes.set("select_last_index", random.between(0, 1));
  return !g.add(op, {x}, std::move(attributes)).empty();
}

bool propose_top_k(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::string x = g.numbers(1, 4);
  const auto axis = static_cast<int>(random.below(static_cast<std::size_t>(g.rank(x))));
  std::vector<std::int64_t> counts;
  for (std::size_t run = 0; run < g.runs(); ++run)
    counts.push_back(random.between(0, std::min<std::int64_t>(5, g.dims(x, run)[axis])));
  if (random.chance(60)) counts.assign(g.runs(), *std::ranges::min_element(counts));
  CaseNode node{op, {}, {x, g.integer(counts, false)}, {"", ""}, {}};
  node.attributes.set("axis", stated(g, axis, g.rank(x)));
  if (random.chance(40)) node.attributes.set("largest", random.between(0, 1));
  return g.add(node);
}

bool propose_non_max_suppression(Generator& g, OpKind op) {
  Random& random = g.random();
  const std::int64_t batch = random.between(1, 2), classes = random.between(1, 3);
  Lists boxes(g.runs()), scores(g.runs());
  const std::int64_t most = random.between(1, 12);
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const std::int64_t count = random.chance(50) ? most : random.between(1, 12);
    boxes[run] = {batch, count, 4};
    scores[run] = {batch, classes, count};
  }
  CaseNode node{op, {}, {g.input(DType::kF32, boxes), g.input(DType::kF32, scores)}, {""}, {}};
  if (random.chance(90)) {
    node.inputs.push_back(g.integer(std::vector<std::int64_t>(g.runs(), random.between(0, 4))));
    node.inputs.push_back(g.floats({static_cast<float>(random.unit())}, Dims{}));
    if (random.chance(50)) node.inputs.push_back(g.floats({0.1F}, Dims{}));
  }
  if (random.chance(30)) node.attributes.set("center_point_box", std::int64_t{1});
  return g.add(node);
}

}  // namespace parallax::fuzz
