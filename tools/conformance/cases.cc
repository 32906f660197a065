#include "cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "device/support.h"
#include "forms.h"
#include "ir/text/text.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "values.h"

namespace parallax::conformance {
namespace {

struct ShapeClass {
  const char* name;
  const char* symbols;
  const char* shape;
};
constexpr ShapeClass kShapeClasses[] = {
    {"scalar", "", "[]"},
    {"one element", "", "[1]"},
    {"one axis", "", "[33]"},
    {"odd sizes", "", "[3, 5, 7]"},
    {"powers of two", "", "[4, 8, 16]"},
    {"large", "", "[3, 2049]"},
    {"rank 4", "", "[2, 3, 5, 4]"},
    {"rank 5", "", "[2, 3, 1, 4, 3]"},
    {"rank 6", "", "[2, 1, 3, 2, 1, 3]"},
    {"rank 7", "", "[2, 1, 3, 2, 1, 2, 3]"},
    {"rank 8", "", "[2, 1, 3, 1, 2, 1, 2, 3]"},
    {"a free dimension", "symbols n\n", "[n, 5]"},
    {"two free dimensions", "symbols n m\n", "[2, n, m]"},
};

/// Values of symbols, one list per binding; the last one makes dimensions of 1.
constexpr std::array<std::array<std::int64_t, 3>, 3> kSizes = {{{3, 4, 5}, {8, 5, 2}, {1, 1, 1}}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Returns the operator that replaces $W: an elementwise one that the delegate supports for the
/// type.
std::string wrapper(const Delegate& delegate, DType dtype) {
  struct Wrapper {
    OpKind op;
    const char* text;
  };
  constexpr Wrapper kWrappers[] = {
      {OpKind::kNeg, "Neg($)"},    {OpKind::kAbs, "Abs($)"},    {OpKind::kRelu, "Relu($)"},
      {OpKind::kNot, "Not($)"},    {OpKind::kTanh, "Tanh($)"},  {OpKind::kSigmoid, "Sigmoid($)"},
      {OpKind::kClip, "Clip($)"},  {OpKind::kAdd, "Add($, $)"}, {OpKind::kMul, "Mul($, $)"},
      {OpKind::kMax, "Max($, $)"}, {OpKind::kMin, "Min($, $)"}, {OpKind::kAnd, "And($, $)"},
      {OpKind::kOr, "Or($, $)"},
  };
  for (const Wrapper& wrapper : kWrappers) {
    const auto found = delegate.operators.find(wrapper.op);
    const bool has =
        found != delegate.operators.end() && std::ranges::count(found->second.dtypes, dtype) > 0;
    const bool of_bools =
        wrapper.op == OpKind::kNot || wrapper.op == OpKind::kAnd || wrapper.op == OpKind::kOr;
    const bool of_signed = wrapper.op == OpKind::kNeg || wrapper.op == OpKind::kRelu;
    const bool of_floats = wrapper.op == OpKind::kTanh || wrapper.op == OpKind::kSigmoid;
    if (!has || of_bools != (dtype == DType::kBool)) continue;
    if (of_signed && info_of(dtype).kind == DTypeClass::kUnsigned) continue;
    if (of_floats && dtype != DType::kF32) continue;
    return wrapper.text;
  }
  return {};
}

/// Replaces each $W(name); false where the delegate has nothing for it.
bool wrap(std::string& text, const std::string& with) {
  for (std::size_t at = 0; (at = text.find("$W(", at)) != std::string::npos;) {
    if (with.empty()) return false;
    const std::size_t end = text.find(')', at);
    std::string call = with;
    replace_all(call, "$", text.substr(at + 3, end - at - 3));
    text.replace(at, end + 1 - at, call);
  }
  return true;
}

/// Fills the constants whose elements the text omits: those whose name does not begin with `c`.
void fill_constants(Graph& graph, std::uint64_t seed) {
  for (Value& value : graph.values) {
    if (value.kind != ValueKind::kConstant || value.name.starts_with('c')) continue;
    const Dims dims = value.constant->dims;
    value.constant = make_constant(value.dtype, dims,
                                   random_elements(value.dtype, dims, value.name.front(), ++seed));
  }
}

std::vector<Binding> bindings_of(const Graph& graph) {
  std::vector<Binding> bindings;
  for (const auto& sizes : kSizes) {
    Binding binding;
    for (const SymbolId id : graph.symbols.ids())
      binding.symbols.emplace_back(sizes[static_cast<std::size_t>(id.value) % sizes.size()]);
    bindings.push_back(std::move(binding));
    if (graph.symbols.empty()) break;
  }
  return bindings;
}

bool is_claimed(const Case& made, const Delegate& delegate) {
  for (const Binding& binding : made.bindings) {
    const auto shapes = concrete_shapes(made.graph, binding);
    if (!shapes) return false;
    for (const NodeId id : made.graph.nodes.ids())
      if (check_support(made.graph, *shapes, id, delegate).reason != CpuReason::kNone) return false;
  }
  return true;
}

/// An attribute of the nodes of one operator that a limit names, and a value at that limit.
struct AtLimit {
  OpKind op;
  std::string name;
  std::variant<std::int64_t, std::string> value;

  std::string text() const {
    const auto* const number = std::get_if<std::int64_t>(&value);
    return name + " " +
           (number == nullptr ? std::get<std::string>(value) : std::to_string(*number));
  }
};

/// Ends of ranges and what a text may be; ends beyond this are no limits in practice.
std::vector<AtLimit> values_at_limits(OpKind op, const Delegate& delegate) {
  constexpr double kFar = 64;
  std::vector<AtLimit> all;
  for (const AttributeLimit& limit : delegate.operators.at(op).attributes) {
    for (const auto& end : {limit.min, limit.max})
      if (end && *end >= -kFar && *end <= kFar)
        all.push_back({op, limit.name, static_cast<std::int64_t>(*end)});
    for (const std::string& text : limit.one_of) all.push_back({op, limit.name, text});
  }
  return all;
}

/// True where it changes a node: lists keep their length, what is not there comes only as a text
/// or as one number.
bool set_at_limit(Graph& graph, const AtLimit& limit) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    const auto* const number = std::get_if<std::int64_t>(&limit.value);
    const AttributeValue* const old = node.attributes.find(limit.name);
    const auto& specs = op_def(node.op).attributes;
    const auto spec = std::ranges::find(specs, limit.name, &AttributeSpec::name);
    if (node.op != limit.op || spec == specs.end()) continue;
    AttributeValue value;
    if (number == nullptr) {
      value = std::get<std::string>(limit.value);
    } else if (const auto* list = old ? std::get_if<std::vector<std::int64_t>>(old) : nullptr) {
      value = std::vector<std::int64_t>(list->size(), *number);
    } else if (spec->type == AttributeType::kInt) {
      value = *number;
    } else {
      continue;
    }
    node.attributes.set(limit.name, std::move(value));
    changed = true;
  }
  return changed;
}

std::optional<Case> make_case(std::string name, const std::string& text, const Delegate& delegate,
                              std::uint64_t seed, const AtLimit* limit) {
  const bool says_outputs = text.find("\noutput ") != std::string::npos;
  auto graph = parse_graph(says_outputs ? text : text + "\noutput y");
  if (!graph || (limit != nullptr && !set_at_limit(*graph, *limit))) return std::nullopt;
  fill_constants(*graph, seed);
  if (!infer_graph(*graph) || !verify(*graph, Stage::kLoad)) return std::nullopt;
  Case made{std::move(name), *std::move(graph), {}};
  made.bindings = bindings_of(made.graph);
  if (!is_claimed(made, delegate)) return std::nullopt;
  return made;
}

void add_form(const OperatorRow& row, const Form& form, DType dtype, const Delegate& delegate,
              std::uint64_t seed, std::vector<Case>& cases) {
  const bool shaped = std::string_view(form.text).find("$S") != std::string_view::npos;
  for (const ShapeClass& shape : kShapeClasses) {
    std::string text = form.text;
    if (shaped) text.insert(0, shape.symbols);
    replace_all(text, "$S", shape.shape);
    replace_all(text, "$O", to_string(row.op));
    replace_all(text, "$T", info_of(dtype).text);
    replace_all(text, "$L", row.left);
    replace_all(text, "$R", row.right);
    replace_all(text, "$A", row.attributes);
    std::string name = form.name;
    if (shaped) name += std::string(name.empty() ? "" : ", ") + shape.name;
    if (name.empty()) name = "plain";
    const auto add = [&](std::optional<Case> made) {
      if (made) cases.push_back(*std::move(made));
    };
    if (wrap(text, wrapper(delegate, dtype))) {
      add(case_of(name, text, delegate, seed));
      for (const AtLimit& limit : values_at_limits(row.op, delegate))
        add(make_case(name + ", " + limit.text(), text, delegate, seed, &limit));
    }
    if (!shaped) return;
  }
}

}  // namespace

std::optional<Case> case_of(std::string name, const std::string& text, const Delegate& delegate,
                            std::uint64_t seed) {
  return make_case(std::move(name), text, delegate, seed, nullptr);
}

std::optional<Case> simple_case(const std::string& text, const Delegate& delegate,
                                std::uint64_t seed) {
  std::string graph = text;
  replace_all(graph, "$T", "f32");
  if (!wrap(graph, wrapper(delegate, DType::kF32))) return std::nullopt;
  return case_of("", graph, delegate, seed);
}

std::vector<Case> operator_cases(OpKind op, DType dtype, const Delegate& delegate,
                                 std::uint64_t seed) {
  std::vector<Case> cases;
  const auto row = operator_row(op);
  if (!row || !contains(kNativeTypes, dtype)) return cases;
  for (const auto& forms : {row->forms, row->more})
    for (const Form& form : forms) add_form(*row, form, dtype, delegate, seed, cases);
  return cases;
}

std::vector<Case> graph_cases(const Delegate& delegate, std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Form& form : graph_forms()) {
    auto made = simple_case(form.text, delegate, seed);
    if (!made) continue;
    made->name = form.name;
    cases.push_back(*std::move(made));
  }
  return cases;
}

}  // namespace parallax::conformance
