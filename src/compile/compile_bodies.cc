#include "compile/compile_bodies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "compile/staging.h"
#include "ops/control_flow.h"

namespace parallax {
namespace {

Error too_large(const Node& node) {
  return {Stage::kCompile, ErrorCode::kOutOfMemory, node.name, "its bodies do not fit 63 bits"};
}

/// Offsets in the workspace, one buffer after the other.
class Workspace {
 public:
  explicit Workspace(std::int64_t arena_bytes) : bytes_(arena_bytes) {}

  /// Reserves memory for a value of the body if its dims are known; returns -1 otherwise.
  std::int64_t add(const Compiled& body, ValueId id) {
    const auto& dims = body.dims[id];
    if (!dims) return -1;
    const std::int64_t offset = bytes_;
    const auto bytes = bytes_of(body.graph().values[id].dtype, *dims);
    const auto aligned = bytes ? checked_align(*bytes, kAlignment) : std::nullopt;
    const auto end = aligned ? checked_add(bytes_, *aligned) : std::nullopt;
    if (!end) overflow_ = true;
    bytes_ = end.value_or(bytes_);
    return offset;
  }
  std::int64_t bytes() const { return bytes_; }
  bool overflow() const { return overflow_; }

 private:
  std::int64_t bytes_;
  bool overflow_ = false;
};

/// Returns whether slices of this value can be written directly into the tensor of all slices.
bool is_direct(const Compiled& body, ValueId id) {
  const auto& dims = body.dims[id];
  return dims && bytes_of(body.graph().values[id].dtype, *dims).value_or(1) % kAlignment == 0;
}

Status add_loop_buffers(const Compiled& compiled, const Node& node, CompiledNode& code,
                        Workspace& workspace) {
  PX_ASSIGN(const LoopParts parts, loop_parts(node));
  const Compiled& body = *code.bodies[0].compiled;
  const Graph& graph = body.graph();
  LoopBuffers& buffers = code.loop;
  for (std::size_t i = 0; i < parts.carried; ++i) {
    const ValueId in = graph.inputs[parts.first_input + i];
    const ValueId output = node.outputs[i];
    const bool has_output = output.valid() && compiled.dims[output].has_value();
    buffers.carried.push_back({has_output ? -1 : workspace.add(body, in), workspace.add(body, in)});
  }
  for (std::size_t i = 0; i < parts.scan_inputs; ++i) {
    const ValueId in = graph.inputs[parts.carried + i];
    const auto rank = static_cast<int>(graph.values[in].shape.size()) + 1;
    PX_ASSIGN(const ScanAxis axis, scan_input_axis(node, i, parts.scan_inputs, rank));
    buffers.scan_inputs.push_back(axis.axis == 0 ? -1 : workspace.add(body, in));
  }
  for (std::size_t i = 0; i < parts.scan_outputs; ++i) {
    const ValueId out = graph.outputs[parts.first_output + parts.carried + i];
    const auto rank = static_cast<int>(graph.values[out].shape.size()) + 1;
    PX_ASSIGN(const ScanAxis axis, scan_output_axis(node, i, parts.scan_outputs, rank));
    const bool direct = axis.axis == 0 && is_direct(body, out);
    buffers.scan_outputs.push_back(direct ? -1 : workspace.add(body, out));
  }
  return {};
}

/// Returns the only element of a value if the binding determines it: a constant, or a number
/// computed from dimensions.
std::optional<std::int64_t> known_element(const Compiled& compiled, ValueId id) {
  const std::byte* const bytes = compiled.fixed[compiled.root[id]];
  const auto& dims = compiled.dims[id];
  if (bytes == nullptr || !dims || dims->elements() != 1) return std::nullopt;
  if (compiled.graph().values[id].dtype == DType::kBool) return *bytes == std::byte{0} ? 0 : 1;
  std::int64_t element = 0;
  std::memcpy(&element, bytes, sizeof element);
  return element;
}

/// Adds the predicted work of a body: of all trips if their number is known, otherwise of one.
void count_work(const Compiled& body, CompiledNode& code) {
  const std::int64_t trips = code.trips.value_or(1);
  std::int64_t macs = 0, bytes = 0;
  double seconds = 0;
  for (const CompiledNode& node : body.nodes) {
    macs = checked_add(macs, node.macs).value_or(macs);
    bytes = checked_add(bytes, node.bytes).value_or(bytes);
  }
  for (const double branch : body.work) seconds += branch;
  macs = checked_mul(macs, trips).value_or(macs);
  bytes = checked_mul(bytes, trips).value_or(bytes);
  code.macs = std::max(code.macs, macs);
  code.bytes = std::max(code.bytes, bytes);
  code.seconds = std::max(code.seconds, seconds * static_cast<double>(trips));
}

}  // namespace

Status compile_bodies(Compiled& compiled, NodeId id) {
  const Node& node = compiled.graph().nodes[id];
  CompiledNode& code = compiled.nodes[id];
  code.role = NodeRole::kBodies;
  std::int64_t arena = 0;
  if (node.op != OpKind::kIf) {
    PX_ASSIGN(code.trips, known_trips(node, compiled.dims,
                                      [&](ValueId v) { return known_element(compiled, v); }));
  }
  for (const auto& context : compiled.context->bodies.at(id)) {
    const Binding binding = binding_of_body(context->graph, compiled.binding);
    auto body = compile(context, binding, compiled.kernels);
    if (!body && node.op == OpKind::kIf && body.error().code == ErrorCode::kInvalidInput) {
      code.bodies.push_back({nullptr, {}, std::move(body).error()});
      continue;
    }
    if (!body) return tl::unexpected(std::move(body).error());
    compiled.scratch_bytes = std::max(compiled.scratch_bytes, (*body)->scratch_bytes);
    compiled.has_run_time_nodes |= (*body)->has_run_time_nodes;
    count_work(**body, code);
    ScheduleOptions one_thread;
    one_thread.parallel = false;
    PX_ASSIGN(Plan plan, plan_of(**body, std::move(one_thread)));
    const auto own = arena_bytes(plan), staged = staged_bytes(**body);
    const auto bytes = own && staged ? checked_add(*own, *staged) : std::nullopt;
    if (!bytes) return tl::unexpected(too_large(node));
    arena = std::max(arena, *bytes);
    code.bodies.push_back({*std::move(body), std::move(plan)});
  }
  const auto unknown = [&](ValueId value) { return value.valid() && !compiled.dims[value]; };
  compiled.has_run_time_nodes |= std::any_of(node.inputs.begin(), node.inputs.end(), unknown) ||
                                 std::any_of(node.outputs.begin(), node.outputs.end(), unknown);
  Workspace workspace(arena);
  if (node.op != OpKind::kIf) PX_RETURN_IF_ERROR(add_loop_buffers(compiled, node, code, workspace));
  if (workspace.overflow()) return tl::unexpected(too_large(node));
  code.workspace_bytes = workspace.bytes();
  return {};
}

}  // namespace parallax
