// If, Loop and Scan, inside each other too.
#include <algorithm>
#include <array>
#include <span>

#include "recipes.h"

namespace parallax::fuzz {
namespace {

using BodyInput = std::pair<Item, std::vector<std::optional<Constant>>>;

int body_nodes(Generator& g) { return static_cast<int>(g.random().between(0, 5)); }

std::string identity(Generator& g, const std::string& value) {
  return g.add(OpKind::kIdentity, {value});
}

/// One bool per run: given, or computed from a tensor.
std::string condition(Generator& g) {
  Random& random = g.random();
  if (random.chance(40)) {
    const std::string x = g.tensor(DType::kF32, 0, 3);
    Attributes attributes;
    attributes.set("keepdims", std::int64_t{0});
    const std::string sum = g.add(OpKind::kReduceSum, {x}, std::move(attributes));
    if (!sum.empty()) {
      auto above = g.add(OpKind::kGreater, {sum, g.floats({0.0F}, Dims{})});
      if (!above.empty()) return above;
    }
  }
  const bool vector = random.chance(20);
  if (random.chance(20)) return g.constant(DType::kBool, vector ? Dims{1} : Dims{});
  return g.input(DType::kBool, Lists(g.runs(), vector ? std::vector<std::int64_t>{1}
                                                      : std::vector<std::int64_t>{}));
}

/// A value that the body makes, through Identity where all are from outside.
std::string body_output(Generator& g, const std::function<bool(const std::string&)>& fits) {
  std::string found = g.own_result(fits);
  if (!found.empty() && g.random().chance(90)) return found;
  found = g.find(fits);
  return found.empty() ? found : identity(g, found);
}

BodyInput body_input(Generator& g, const std::string& name, const char* hint) {
  BodyInput input{{g.fresh_name(hint), g.dtype(name)}, {}};
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Constant* value = g.value(name, run);
    input.second.push_back(value == nullptr ? std::nullopt : std::optional(*value));
  }
  return input;
}

template <class T>
BodyInput body_scalar(Generator& g, DType dtype, T value, const char* hint) {
  const Constant constant = make_constant(dtype, {}, std::as_bytes(std::span(&value, 1)));
  return {{g.fresh_name(hint), dtype},
          std::vector<std::optional<Constant>>(g.runs(), std::optional(constant))};
}

/// Adds up to two carried values to a loop, and returns their names in the body.
std::vector<std::string> add_states(Generator& g, CaseNode& node, std::vector<BodyInput>& inputs) {
  std::vector<std::string> carried;
  const std::int64_t states = g.random().between(0, 2);
  for (std::int64_t i = 0; i < states; ++i) {
    node.inputs.push_back(g.numbers(0, 3));
    inputs.push_back(body_input(g, node.inputs.back(), "s"));
    carried.push_back(inputs.back().first.name);
  }
  return carried;
}

/// What the body gives back for a carried value: of its type and rank, mostly of its shape.
std::string carried_output(Generator& g, const std::string& carried, bool may_grow) {
  Random& random = g.random();
  const auto same_rank = [&](const std::string& name) {
    return g.dtype(name) == g.dtype(carried) && g.rank(name) == g.rank(carried);
  };
  const auto same_shape = [&](const std::string& name) {
    for (std::size_t run = 0; run < g.runs(); ++run)
      if (!same_rank(name) || !(g.dims(name, run) == g.dims(carried, run))) return false;
    return true;
  };
  if (may_grow && g.rank(carried) > 0 && random.chance(20)) {
    Attributes axis;
    axis.set("axis", std::int64_t{0});
    const std::string grown = g.add(OpKind::kConcat, {carried, carried}, std::move(axis));
    if (!grown.empty() && random.chance(50)) return grown;
    if (!grown.empty()) {
      const std::string more = g.find(same_rank);
      Attributes again;
      again.set("axis", std::int64_t{0});
      auto joined = g.add(OpKind::kConcat, {carried, more}, std::move(again));
      if (!joined.empty()) return joined;
    }
  }
  if (may_grow && random.chance(15)) return body_output(g, same_rank);
  if (random.chance(30)) return identity(g, carried);
  return body_output(g, same_shape);
}

void add_scan_outputs(Generator& g, std::vector<std::string>& outputs) {
  const std::int64_t count = g.random().between(0, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    auto name = body_output(g, [&](const std::string& value) { return g.rank(value) < 4; });
    if (!name.empty()) outputs.push_back(std::move(name));
  }
}

bool has_twice(std::vector<std::string> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) != names.end();
}

}  // namespace

bool propose_if(Generator& g, OpKind op) {
  CaseNode node{op, {}, {condition(g)}, {}, {}};
  const auto count = static_cast<std::size_t>(g.random().between(1, 3));
  node.outputs.resize(count);
  g.begin_body({});
  g.grow(1 + body_nodes(g));
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < count; ++i)
    outputs.push_back(body_output(g, [&](const std::string&) { return true; }));
  if (std::ranges::any_of(outputs, &std::string::empty) || has_twice(outputs)) {
    g.end_body({});
    return false;
  }
  std::vector<std::pair<DType, int>> types;
  std::vector<Dims> dims;
  for (const std::string& name : outputs) {
    types.emplace_back(g.dtype(name), g.rank(name));
    dims.push_back(g.dims(name, 0));
  }
  node.bodies.push_back(g.end_body(outputs));
  g.begin_body({});
  g.grow(body_nodes(g));
  outputs.clear();
  for (std::size_t i = 0; i < count; ++i) {
    auto name = body_output(g, [&](const std::string& value) {
      return g.dtype(value) == types[i].first && g.rank(value) == types[i].second;
    });
    outputs.push_back(name.empty() ? identity(g, g.constant(types[i].first, dims[i])) : name);
  }
  const bool twice = has_twice(outputs);
  node.bodies.push_back(g.end_body(outputs));
  return !twice && g.add(node);
}

bool propose_loop(Generator& g, OpKind op) {
  Random& random = g.random();
  CaseNode node{op, {}, {"", ""}, {}, {}};
  std::vector<std::int64_t> trips(g.runs(), random.between(1, 4));
  if (random.chance(30))
    for (std::int64_t& count : trips) count = random.between(0, 5);
  const bool limited = random.chance(85);
  if (limited) node.inputs[0] = g.integer(trips);
  if (random.chance(50)) node.inputs[1] = condition(g);
  std::vector<BodyInput> inputs = {body_scalar(g, DType::kI64, std::int64_t{0}, "i"),
                                   body_scalar(g, DType::kBool, true, "go")};
  const std::string trip = inputs[0].first.name, go = inputs[1].first.name;
  const std::vector<std::string> carried = add_states(g, node, inputs);
  g.begin_body(inputs);
  g.grow(1 + body_nodes(g));
  const std::int64_t last = random.between(0, 4);
  std::string goes_on =
      limited && random.chance(70)
          ? identity(g, go)
          : g.add(OpKind::kLess,
                  {trip, g.constant(Constant(
                             make_constant(DType::kI64, {}, std::as_bytes(std::span(&last, 1)))))});
  std::vector<std::string> outputs = {goes_on};
  for (const std::string& name : carried) outputs.push_back(carried_output(g, name, true));
  add_scan_outputs(g, outputs);
  const bool complete = std::ranges::none_of(outputs, &std::string::empty) && !has_twice(outputs);
  node.outputs.resize(outputs.size() - 1);
  node.bodies.push_back(g.end_body(outputs));
  return complete && !node.outputs.empty() && g.add(node);
}

namespace {

/// The first slice of each run, which only the oracle needs.
BodyInput first_slice(Generator& g, const std::string& source, int axis) {
  constexpr std::int64_t kFirst = 0;
  Attributes gather;
  gather.set("axis", std::int64_t{axis});
  BodyInput input{{g.fresh_name("e"), g.dtype(source)}, {}};
  for (std::size_t run = 0; run < g.runs(); ++run) {
    const Constant* whole = g.value(source, run);
    Scope scope;
    if (whole != nullptr) scope.set("whole", *whole);
    scope.set("first", make_constant(DType::kI64, {}, std::as_bytes(std::span(&kFirst, 1))));
    auto slice = interpret({OpKind::kGather, gather, {"whole", "first"}, {"slice"}, {}}, scope);
    input.second.push_back(slice ? std::optional((*slice)[0]) : std::nullopt);
  }
  return input;
}

/// Adds one or two scan inputs to the node, and what the body gets of them.
bool add_scan_inputs(Generator& g, CaseNode& node, std::vector<BodyInput>& inputs) {
  Random& random = g.random();
  const std::string x = g.numbers(1, 3);
  const int axis = static_cast<int>(random.below(static_cast<std::size_t>(g.rank(x))));
  std::vector<std::string> sources = {x};
  const std::string y = g.find([&](const std::string& name) {
    return g.rank(name) > axis && g.sizes(name, axis) == g.sizes(x, axis);
  });
  if (!y.empty() && random.chance(30)) sources.push_back(y);
  std::vector<std::int64_t> axes, directions;
  for (const std::string& source : sources) {
    if (g.dims(source, 0)[axis] == 0) return false;
    node.inputs.push_back(source);
    inputs.push_back(first_slice(g, source, axis));
    axes.push_back(random.chance(20) ? axis - g.rank(source) : axis);
    directions.push_back(random.between(0, 1));
  }
  node.attributes.set("num_scan_inputs", std::ssize(sources));
  if (axis != 0 || random.chance(30)) node.attributes.set("scan_input_axes", axes);
  if (random.chance(30)) node.attributes.set("scan_input_directions", directions);
  return true;
}

void set_output_axes(Generator& g, CaseNode& node, std::span<const std::string> stacked) {
  std::vector<std::int64_t> axes, directions;
  for (const std::string& slice : stacked) {
    axes.push_back(g.random().between(0, g.rank(slice)));
    directions.push_back(g.random().between(0, 1));
  }
  node.attributes.set("scan_output_axes", axes);
  node.attributes.set("scan_output_directions", directions);
}

}  // namespace

bool propose_scan(Generator& g, OpKind op) {
  Random& random = g.random();
  CaseNode node{op, {}, {}, {}, {}};
  std::vector<BodyInput> inputs;
  const std::vector<std::string> carried = add_states(g, node, inputs);
  if (!add_scan_inputs(g, node, inputs)) return false;
  g.begin_body(inputs);
  g.grow(1 + body_nodes(g));
  std::vector<std::string> outputs;
  for (const std::string& name : carried) outputs.push_back(carried_output(g, name, false));
  add_scan_outputs(g, outputs);
  const bool complete =
      !outputs.empty() && std::ranges::none_of(outputs, &std::string::empty) && !has_twice(outputs);
  if (complete && outputs.size() > carried.size() && random.chance(40))
    set_output_axes(g, node, std::span(outputs).subspan(carried.size()));
  node.outputs.resize(outputs.size());
  node.bodies.push_back(g.end_body(outputs));
  return complete && g.add(node);
}

}  // namespace parallax::fuzz
