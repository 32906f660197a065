#include "interpret.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/status.h"
#include "bind/evaluate.h"
#include "disturb.h"
#include "ir/builder.h"
#include "open.h"
#include "ops/infer.h"

namespace parallax::fuzz {
namespace {

tl::unexpected<Error> cannot(std::string message, ErrorCode code = ErrorCode::kInvalidInput) {
  return tl::unexpected(Error{Stage::kRun, code, {}, std::move(message)});
}

struct Bounds {
  std::int64_t outer = 1, length = 1, inner = 1;
};

Bounds bounds_of(const Dims& dims, int axis) {
  Bounds bounds;
  for (int i = 0; i < dims.rank(); ++i) {
    (i < axis ? bounds.outer : (i == axis ? bounds.length : bounds.inner)) *= dims[i];
  }
  return bounds;
}

/// Element `at` along `axis`, which is gone from the result.
Constant slice_of(const Constant& tensor, int axis, std::int64_t at) {
  Dims dims;
  for (int i = 0; i < tensor.dims.rank(); ++i)
    if (i != axis) dims.push_back(tensor.dims[i]);
  const Bounds bounds = bounds_of(tensor.dims, axis);
  const auto run = static_cast<std::size_t>(bounds.inner * size_of(tensor.dtype));
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < bounds.outer; ++i) {
    const auto part =
        tensor.bytes.subspan(static_cast<std::size_t>(i * bounds.length + at) * run, run);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return make_constant(tensor.dtype, dims, bytes);
}

/// The slices along a new axis.
Result<Constant> stacked(const std::vector<Constant>& slices, std::int64_t axis) {
  if (slices.empty()) return cannot("a loop without trips", ErrorCode::kInternal);
  const Constant& first = slices.front();
  for (const Constant& slice : slices)
    if (slice.dtype != first.dtype || !(slice.dims == first.dims))
      return cannot("slices of different shapes");
  const int rank = first.dims.rank() + 1;
  if (axis < 0) axis += rank;
  Dims dims;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(i == axis ? static_cast<std::int64_t>(slices.size())
                             : first.dims[i > axis ? i - 1 : i]);
  }
  const Bounds bounds = bounds_of(dims, static_cast<int>(axis));
  const auto run = static_cast<std::size_t>(bounds.inner * size_of(first.dtype));
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(bounds.outer); ++i) {
    for (const Constant& slice : slices) {
      const auto part = slice.bytes.subspan(i * run, run);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  }
  return make_constant(first.dtype, dims, bytes);
}

Result<bool> truth(const Constant& tensor) {
  if (tensor.dtype != DType::kBool || tensor.bytes.size() != 1) return cannot("no condition");
  return tensor.bytes[0] != std::byte{0};
}

Constant scalar(std::int64_t value) {
  return make_constant(DType::kI64, {}, std::as_bytes(std::span(&value, 1)));
}
Constant scalar(bool value) {
  return make_constant(DType::kBool, {}, std::as_bytes(std::span(&value, 1)));
}

Result<std::vector<Constant>> run_if(const CaseNode& node, const Scope& scope, const Noise& noise) {
  const Constant* condition = scope.find(node.inputs[0]);
  if (condition == nullptr) return cannot("no input", ErrorCode::kInternal);
  PX_ASSIGN(const bool taken, truth(*condition));
  return interpret(node.bodies[taken ? 0 : 1], {}, &scope, noise);
}

/// What Loop and Scan share: carried values, and results of each trip that are stacked.
struct Trips {
  std::vector<Constant> carried;
  std::vector<std::vector<Constant>> stacks;

  Status take(std::vector<Constant> outputs, std::size_t first) {
    for (std::size_t i = 0; i < carried.size(); ++i) {
      Constant& after = outputs[first + i];
      if (after.dtype != carried[i].dtype || after.dims.rank() != carried[i].dims.rank())
        return cannot("a carried value changed its rank");
      carried[i] = std::move(after);
    }
    for (std::size_t i = 0; i < stacks.size(); ++i)
      stacks[i].push_back(std::move(outputs[first + carried.size() + i]));
    return {};
  }
};

Result<std::vector<Constant>> inputs_of(const CaseNode& node, const Scope& scope,
                                        std::size_t first) {
  std::vector<Constant> values;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const Constant* value = scope.find(node.inputs[i]);
    if (value == nullptr) return cannot("no input", ErrorCode::kInternal);
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<Constant>> results_of(Trips trips, const std::vector<std::int64_t>& axes,
                                         const std::vector<std::int64_t>& reversed) {
  std::vector<Constant> outputs = std::move(trips.carried);
  for (std::size_t i = 0; i < trips.stacks.size(); ++i) {
    if (!reversed.empty() && reversed[i] != 0) std::ranges::reverse(trips.stacks[i]);
    PX_ASSIGN(outputs.emplace_back(), stacked(trips.stacks[i], axes.empty() ? 0 : axes[i]));
  }
  return outputs;
}

Result<std::vector<Constant>> run_loop(const CaseNode& node, const Scope& scope,
                                       const Noise& noise) {
  std::optional<std::int64_t> limit;
  bool goes_on = true;
  if (!node.inputs[0].empty()) {
    const Constant* given = scope.find(node.inputs[0]);
    const auto value = given == nullptr ? std::nullopt : integers(*given, 1);
    if (!value || value->size() != 1) return cannot("no limit");
    limit = value->front();
  }
  if (!node.inputs[1].empty()) {
    const Constant* given = scope.find(node.inputs[1]);
    if (given == nullptr) return cannot("no input", ErrorCode::kInternal);
    PX_ASSIGN(goes_on, truth(*given));
  }
  Trips trips;
  PX_ASSIGN(trips.carried, inputs_of(node, scope, 2));
  trips.stacks.resize(node.outputs.size() - trips.carried.size());
  for (std::int64_t i = 0; goes_on && (!limit || i < *limit); ++i) {
    if (i == 1000) return cannot("a loop that does not end");
    std::vector<Constant> inputs = {scalar(i), scalar(goes_on)};
    inputs.insert(inputs.end(), trips.carried.begin(), trips.carried.end());
    PX_ASSIGN(auto outputs, interpret(node.bodies[0], inputs, &scope, noise));
    PX_ASSIGN(goes_on, truth(outputs[0]));
    PX_RETURN_IF_ERROR(trips.take(std::move(outputs), 1));
  }
  return results_of(std::move(trips), {}, {});
}

Result<std::vector<Constant>> run_scan(const CaseNode& node, const Scope& scope,
                                       const Noise& noise) {
  const auto scans = static_cast<std::size_t>(node.attributes.get_int("num_scan_inputs", 1));
  const auto axes = node.attributes.get_ints("scan_input_axes");
  const auto directions = node.attributes.get_ints("scan_input_directions");
  PX_ASSIGN(std::vector<Constant> inputs, inputs_of(node, scope, 0));
  Trips trips;
  const auto first = inputs.end() - static_cast<std::ptrdiff_t>(scans);
  trips.carried.assign(inputs.begin(), first);
  trips.stacks.resize(node.outputs.size() - trips.carried.size());
  const std::vector<Constant> scanned(first, inputs.end());
  std::vector<int> axis;
  std::int64_t length = -1;
  for (std::size_t i = 0; i < scans; ++i) {
    const auto known = normalize_axis(axes.empty() ? 0 : axes[i], scanned[i].dims.rank());
    if (!known) return cannot("no such axis");
    axis.push_back(*known);
    if (length >= 0 && scanned[i].dims[*known] != length) return cannot("different lengths");
    length = scanned[i].dims[*known];
  }
  for (std::int64_t trip = 0; trip < length; ++trip) {
    std::vector<Constant> now = trips.carried;
    for (std::size_t i = 0; i < scans; ++i) {
      const bool back = !directions.empty() && directions[i] != 0;
      now.push_back(slice_of(scanned[i], axis[i], back ? length - 1 - trip : trip));
    }
    PX_ASSIGN(auto outputs, interpret(node.bodies[0], now, &scope, noise));
    PX_RETURN_IF_ERROR(trips.take(std::move(outputs), 0));
  }
  return results_of(std::move(trips), node.attributes.get_ints("scan_output_axes"),
                    node.attributes.get_ints("scan_output_directions"));
}

/// A node by itself, with its inputs as constants.
struct Alone {
  Graph graph;
  NodeId id;
};

Result<Alone> alone_of(const CaseNode& node, const Scope& scope) {
  Alone alone;
  GraphBuilder builder(alone.graph);
  std::vector<ValueId> inputs;
  for (const std::string& name : node.inputs) {
    inputs.emplace_back();
    if (name.empty()) continue;
    const Constant* constant = scope.find(name);
    if (constant == nullptr) return cannot("no input", ErrorCode::kInternal);
    inputs.back() = builder.constant(name, *constant);
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  alone.id = builder.node(node.op, std::move(inputs), node.attributes, "node",
                          static_cast<int>(node.outputs.size()));
  PX_RETURN_IF_ERROR(check_node(alone.graph.nodes[alone.id], NodeOrigin::kFile));
  PX_RETURN_IF_ERROR(infer_graph(alone.graph));
  return alone;
}

/// Zeros in the shapes of the outputs, where these do not depend on what the node computes: nodes
/// behind one that fails are planned with them. Empty otherwise.
std::vector<Constant> zeros_of(const CaseNode& node, const Scope& scope) {
  if (!node.bodies.empty()) return {};
  const auto alone = alone_of(node, scope);
  if (!alone) return {};
  const Node& made = alone->graph.nodes[alone->id];
  std::vector<RuntimeInput> inputs;
  for (const ValueId id : made.inputs) {
    inputs.emplace_back();
    if (!id.valid()) continue;
    const Constant& constant = *alone->graph.values[id].constant;
    inputs.back() = {true, constant.dtype, constant.dims, constant.bytes.data()};
  }
  const auto dims = infer_runtime(made, inputs);
  if (!dims) return {};
  std::vector<Constant> zeros;
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    if (!(*dims)[i]) return {};
    const DType dtype =
        made.outputs[i].valid() ? alone->graph.values[made.outputs[i]].dtype : DType::kF32;
    const std::vector<std::byte> bytes(bytes_of(dtype, *(*dims)[i]).value_or(0));
    zeros.push_back(make_constant(dtype, *(*dims)[i], bytes));
  }
  return zeros;
}

/// As interpret(), but with noise.errors a node that fails gives zeros; nothing if their shapes are
/// not known.
Result<std::vector<Constant>> outputs_or_zeros(const CaseNode& node, const Scope& scope,
                                               const Noise& noise) {
  auto outputs = interpret(node, scope, noise);
  if (outputs || noise.errors == nullptr) return outputs;
  noise.errors->push_back(outputs.error());
  return zeros_of(node, scope);
}

}  // namespace

void Scope::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

const Constant* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->around_) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

Result<std::vector<Constant>> interpret(const CaseNode& node, const Scope& scope,
                                        const Noise& noise) {
  if (node.op == OpKind::kIf) return run_if(node, scope, noise);
  if (node.op == OpKind::kLoop) return run_loop(node, scope, noise);
  if (node.op == OpKind::kScan) return run_scan(node, scope, noise);
  PX_ASSIGN(const Alone alone, alone_of(node, scope));
  PX_ASSIGN(auto outputs, evaluate_node(alone.graph, alone.id));
  std::vector<const Constant*> given;
  for (const std::string& name : node.inputs)
    given.push_back(name.empty() ? nullptr : scope.find(name));
  if (noise.open != nullptr && is_open(node, given, outputs))
    for (const std::string& name : node.outputs) noise.open->insert_or_assign(name, node.op);
  if (noise.size != 0 && spreads_nan(node, given))
    std::ranges::transform(outputs, outputs.begin(), all_nan);
  if (is_exact(node.op) || (noise.shifts && !sums(node.op))) return outputs;
  float largest = 0;
  for (const Constant* input : given)
    if (input != nullptr && cancels(node.op))
      largest = std::max(largest, largest_magnitude(*input));
  for (Constant& output : outputs)
    output = disturbed(output, noise, std::max(largest, largest_magnitude(output)));
  return outputs;
}

Result<std::vector<Constant>> interpret(const CaseGraph& graph, std::span<const Constant> inputs,
                                        const Scope* around, const Noise& noise) {
  Scope scope(around);
  for (const auto& [name, constant] : graph.constants) scope.set(name, constant);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    scope.set(graph.inputs[i].name, around == nullptr && !noise.shifts
                                        ? disturbed(inputs[i], noise, largest_magnitude(inputs[i]))
                                        : inputs[i]);
  }
  for (const CaseNode& node : graph.nodes) {
    PX_ASSIGN(auto outputs, outputs_or_zeros(node, scope, noise));
    for (std::size_t i = 0; i < std::min(node.outputs.size(), outputs.size()); ++i)
      if (!node.outputs[i].empty()) scope.set(node.outputs[i], std::move(outputs[i]));
  }
  std::vector<Constant> results;
  for (const std::string& name : graph.outputs) {
    const Constant* value = scope.find(name);
    if (value == nullptr) return cannot("no output", ErrorCode::kInternal);
    results.push_back(*value);
  }
  return results;
}

Scope values_of(const CaseGraph& graph, std::span<const Constant> inputs,
                std::vector<Error>* errors) {
  Scope scope;
  for (const auto& [name, constant] : graph.constants) scope.set(name, constant);
  for (std::size_t i = 0; i < inputs.size(); ++i) scope.set(graph.inputs[i].name, inputs[i]);
  for (const CaseNode& node : graph.nodes) {
    auto outputs = outputs_or_zeros(node, scope, {.errors = errors});
    for (std::size_t i = 0; outputs && i < outputs->size() && i < node.outputs.size(); ++i)
      scope.set(node.outputs[i], (*outputs)[i]);
  }
  return scope;
}

}  // namespace parallax::fuzz
