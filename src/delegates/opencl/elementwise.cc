#include "delegates/opencl/elementwise.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>

#include "base/files/hash.h"
#include "base/status.h"
#include "kernels/reference/index_space.h"
#include "ops/params/activation.h"

namespace parallax::opencl {
namespace {

enum class Gives : std::uint8_t { kSame, kBool };

struct Formula {
  OpKind op;
  DTypeSet types;
  Gives gives;
  std::string_view text;
};
constexpr Formula kFormulas[] = {
#define PX_CL_ELEMENTWISE(op, types, gives, text) {OpKind::k##op, types, Gives::gives, text},
#include "delegates/opencl/elementwise.def"
#undef PX_CL_ELEMENTWISE
};

const Formula* formula_of(OpKind op) {
  const auto* found = std::ranges::find(kFormulas, op, &Formula::op);
  return found == std::end(kFormulas) ? nullptr : found;
}

const char* type_in_memory(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "real";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long";
    default:
      return "uchar";
  }
}
const char* type_in_registers(DType dtype) {
  return dtype == DType::kBool ? "int" : dtype == DType::kF32 ? "float" : type_in_memory(dtype);
}

/// Returns a float as an exact literal of OpenCL C.
std::string literal(float x) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x < 0 ? "(-INFINITY)" : "INFINITY";
  return fmt::format("({:a}f)", x);
}

std::string converted(DType from, DType to, const std::string& x) {
  if (to == DType::kBool) return fmt::format("{} != 0", x);
  if (from == DType::kF32 && to == DType::kI32) return fmt::format("int_of({})", x);
  if (from == DType::kF32 && to == DType::kI64) return fmt::format("long_of({})", x);
  return fmt::format("({}){}", type_in_registers(to), x);
}

/// Returns the source for the extreme of the inputs `x`; the first has type `dtype`. An empty text
/// is an input that is left out.
std::string extreme_of(bool largest, DType dtype, std::span<const std::string> x) {
  const std::string word = largest ? "larger" : "smaller";
  std::string result = x[0];
  for (const std::string& next : x.subspan(1)) {
    const std::string call = dtype == DType::kF32 ? word + "_f32" : largest ? "max" : "min";
    result = fmt::format("{}({}, {})", call, result, next);
  }
  return result;
}

/// Returns the source of a Clip. The upper bound wins if the bounds cross; NaN stays. Floats
/// without a bound are limited to finite numbers.
std::string clip_of_type(DType dtype, std::span<const std::string> x) {
  const auto bound = [&](std::size_t i, const char* fallback) {
    const bool given = i < x.size() && !x[i].empty();
    return given ? x[i] : dtype == DType::kF32 ? std::string(fallback) : std::string();
  };
  const std::string low = bound(1, "(-FLT_MAX)"), high = bound(2, "FLT_MAX");
  std::string result = x[0];
  if (!low.empty()) result = fmt::format("({0} < {1} ? {1} : {0})", result, low);
  if (!high.empty()) result = fmt::format("({0} > {1} ? {1} : {0})", result, high);
  return result;
}

std::string special_formula(const Node& node, DType in, DType out, std::span<const std::string> x) {
  switch (node.op) {
    case OpKind::kCast:
      return converted(in, out, x[0]);
    case OpKind::kClip:
      return clip_of_type(in, x);
    case OpKind::kMax:
    case OpKind::kMin:
      return extreme_of(node.op == OpKind::kMax, in, x);
    case OpKind::kSilu:
      return fmt::format("{0} * (1.0f / (1.0f + exp(-({1} * {0}))))", x[0],
                         literal(alpha_of(node)));
    case OpKind::kGelu:
      if (params_of<GeluParams>(node).form == GeluForm::kTanh) {
        return fmt::format(
            "0.5f * {0} * (1.0f + tanh(0.79788456f * ({0} + 0.044715f * {0} * {0} * {0})))", x[0]);
      }
      return fmt::format("0.5f * {0} * erfc({0} * -0.70710678f)", x[0]);
    default:
      return {};
  }
}

std::string expression(const Node& node, DType in, DType out, std::span<const std::string> x) {
  const Formula* formula = formula_of(node.op);
  if (formula->text.empty()) return special_formula(node, in, out, x);
  const auto at = [&](std::size_t i) { return i < x.size() ? x[i] : std::string(); };
  return fmt::format(fmt::runtime(formula->text), at(0), at(1), at(2));
}

/// Declarations of what nodes compute, by value.
Result<std::string> body_of(const Graph& graph, const Chain& chain,
                            std::map<ValueId, std::string>& names) {
  std::string body;
  for (const NodeId id : chain.nodes) {
    const Node& node = graph.nodes[id];
    std::vector<std::string> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.valid() ? names.at(input) : std::string());
    const DType out = graph.values[node.outputs[0]].dtype;
    const std::string text = expression(node, graph.values[node.inputs[0]].dtype, out, inputs);
    if (text.empty()) return not_covered(fmt::format("no formula for {}", to_string(node.op)));
    const std::string name = fmt::format("t{}", names.size());
    body += fmt::format("  const {} {} = {};\n", type_in_registers(out), name, text);
    names.emplace(node.outputs[0], name);
  }
  return body;
}

}  // namespace

DTypeSet elementwise_types(OpKind op) {
  const Formula* formula = formula_of(op);
  return formula == nullptr ? 0 : formula->types;
}
bool gives_bools(OpKind op) {
  const Formula* formula = formula_of(op);
  return formula != nullptr && formula->gives == Gives::kBool;
}

Result<KernelSpec> chain_kernel(const Graph& graph, const Chain& chain) {
  // Devices accept at least 1,024 bytes of arguments.
  if (chain.operands.size() > 18) return not_covered("more than 18 operands");
  std::map<ValueId, std::string> names;
  std::string parameters, loads, signature = "S";
  for (std::size_t k = 0; k < chain.operands.size(); ++k) {
    const DType dtype = graph.values[chain.operands[k]].dtype;
    parameters += fmt::format(", global const {0}* p{1}, long o{1}, Strides_t s{1}",
                              type_in_memory(dtype), k);
    const std::string at = fmt::format("o{0} + index_of(&s, &s{0}, row, column)", k);
    const std::string element = dtype == DType::kF32    ? fmt::format("READ(p{}, {})", k, at)
                                : dtype == DType::kBool ? fmt::format("p{}[{}] != 0", k, at)
                                                        : fmt::format("p{}[{}]", k, at);
    loads += fmt::format("  const {} x{} = {};\n", type_in_registers(dtype), k, element);
    names.emplace(chain.operands[k], fmt::format("x{}", k));
    signature += "pT";
  }
  PX_ASSIGN(const std::string body, body_of(graph, chain, names));
  const DType out = graph.values[chain.result].dtype;
  const std::string write =
      fmt::format(fmt::runtime(out == DType::kF32 ? "WRITE(y, {}, {})" : "y[{}] = {}"),
                  "y0 + row * s.dims[0] + column", names.at(chain.result));
  const std::string rest =
      fmt::format("(Space_t s{}, global {}* y, long y0) {{\n  POSITION(s)\n{}{}  {};\n}}\n",
                  parameters, type_in_memory(out), loads, body, write);
  const std::string name = fmt::format("chain_{:016x}", hash64(std::as_bytes(std::span(rest))));
  return KernelSpec{name,
                    fmt::format("kernel ITEMS(GROUP, 1, 1) void {}{}", name, rest),
                    {static_cast<std::size_t>(kGroupItems), 1, 1},
                    signature + "p"};
}

Launch chain_launch(const KernelSpec& kernel, std::span<const Operand> operands,
                    const Operand& result) {
  const Dims& dims = result.desc.dims;
  std::vector<Strides> strides{row_major_strides(dims)};
  for (const Operand& operand : operands)
    strides.push_back(broadcast_strides(operand.desc.dims, dims));
  const Walk walk = walk_of(dims, strides);
  Launch launch{&kernel, {walk.groups, 1, 1}, {walk.space}};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    launch.arguments.emplace_back(argument_of(operands[k]));
    launch.arguments.emplace_back(walk.operands[k + 1]);
  }
  launch.arguments.emplace_back(argument_of(result));
  return launch;
}

}  // namespace parallax::opencl
