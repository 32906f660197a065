#include "run/control_flow/control_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "ops/control_flow.h"
#include "run/control_flow/body_runner.h"

namespace parallax {
namespace {

/// Limit on the events of bodies, of each kind, in a trace: a loop may make any number.
constexpr std::size_t kMaxBodyEvents = std::size_t{1} << 18;

Error too_many_trips(std::string node, std::int64_t max_trips) {
  return {Stage::kRun, ErrorCode::kLimitExceeded, std::move(node),
          fmt::format("the loops of this run make more than {} trips, which is the limit "
                      "(SessionOptions::max_loop_trips, --max-loop-trips)",
                      max_trips)};
}

class IfRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  Status run() {
    PX_ASSIGN(const std::byte* const condition, input(0));
    if (input_dims(0).elements() != 1)
      return tl::unexpected(
          body_error(ErrorCode::kInvalidInput, node_, "the condition must be one element"));
    const std::size_t body = *condition != std::byte{0} ? 0 : 1;
    if (only_branch(node_).value_or(body) != body)
      return tl::unexpected(body_error(
          ErrorCode::kUnsupported, node_,
          "an axis that is squeezed must have one element, as the model is loaded; with the sizes "
          "of its inputs in LoadOptions::inputs it is loaded for others"));
    std::vector<const std::byte*> inputs;
    std::vector<Dims> dims;
    for (std::size_t i = 1; i < node_.inputs.size(); ++i) {
      PX_ASSIGN(inputs.emplace_back(), input(i));
      dims.push_back(input_dims(i));
    }
    PX_RETURN_IF_ERROR(run_body(
        body, inputs, dims, [&](int output, DType dtype, const Dims& shape) -> Result<std::byte*> {
          const auto i = static_cast<std::size_t>(output);
          if (node_.outputs[i].valid()) return make_output(i, shape);
          return allocate(dtype, shape);
        }));
    let_go_inputs();
    return {};
  }

  void let_go(std::size_t i) override { let_go_input(1 + i); }
};

}  // namespace

void RunLimits::stop(Error error) {
  const MutexLock lock(mutex_);
  if (!error_) error_ = std::move(error);
  stopped_.store(true, std::memory_order_relaxed);
}

Status RunLimits::status() const {
  if (!stopped()) return {};
  const MutexLock lock(mutex_);
  return tl::unexpected(*error_);
}

Status RunLimits::take_trips(std::int64_t count) {
  if (trips_left.fetch_sub(count, std::memory_order_relaxed) < count)
    return tl::unexpected(too_many_trips({}, max_trips));
  return check_deadline(deadline);
}

Status check_known_trips(const Compiled& compiled, std::int64_t max_trips) {
  for (const auto& [id, bodies] : compiled.context->bodies)
    if (compiled.nodes[id].trips.value_or(0) > max_trips)
      return tl::unexpected(too_many_trips(compiled.graph().nodes[id].name, max_trips));
  return {};
}

Error body_error(ErrorCode code, const Node& node, std::string message) {
  return {Stage::kRun, code, node.name,
          fmt::format("{}: {}", to_string(node.op), std::move(message))};
}

BodyRunner::BodyRunner(Run& run, NodeId id, Participant& self)
    : run_(run),
      id_(id),
      node_(run.graph().nodes[id]),
      code_(run.compiled_.nodes[id]),
      bodies_(run.program_.bound->bodies.at(id)),
      self_(self),
      arena_(run.pool_, run.options_.poison),
      reads_(code_.releases.size(), 0),
      buffers_(code_.bodies.size()) {
  for (const ValueId input : node_.inputs)
    if (const auto root = released_root(input)) ++reads_[*root];
  if (code_.workspace >= 0)
    workspace_ =
        run.block_ + run.program_.plan.offsets.offset[static_cast<std::size_t>(code_.workspace)];
}

Result<const std::byte*> BodyRunner::input(std::size_t i) const {
  const ValueId id = node_.inputs[i];
  if (is_object(run_.graph().values[id])) return run_.bytes_of(id);
  if (const auto& constant = run_.graph().values[run_.compiled_.root[id]].constant)
    return run_.compiled_.context->constants.aligned(*constant);
  return run_.bytes_of(id);
}

/// Returns the index in CompiledNode::releases of the bytes of `input`; nullopt if not released.
std::optional<std::size_t> BodyRunner::released_root(ValueId input) const {
  if (!input.valid()) return std::nullopt;
  const auto& roots = code_.releases;
  const auto found = std::find(roots.begin(), roots.end(), run_.compiled_.root[input]);
  if (found == roots.end()) return std::nullopt;
  return static_cast<std::size_t>(found - roots.begin());
}

void BodyRunner::let_go_input(std::size_t i) {
  const auto root = released_root(node_.inputs[i]);
  if (root && --reads_[*root] == 0) run_.release(code_.releases[*root]);
}

void BodyRunner::let_go_inputs() {
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (std::exchange(reads_[i], 0) > 0) run_.release(code_.releases[i]);
}

Result<std::byte*> BodyRunner::allocate(DynamicArena& arena, DType dtype, const Dims& dims) {
  if (dtype == DType::kString) return reinterpret_cast<std::byte*>(&unread_object_);
  const auto bytes = bytes_of(dtype, dims);
  if (bytes) return arena.allocate(*bytes);
  return tl::unexpected(body_error(ErrorCode::kOutOfMemory, node_,
                                   "a tensor of shape " + dims.to_string() + " is too large"));
}

Result<std::byte*> BodyRunner::make_output(std::size_t i, const Dims& dims) {
  const ValueId output = node_.outputs[i];
  const auto& planned = run_.compiled_.dims[output];
  if (!planned) return run_.make_output(id_, output, dims);
  if (!(*planned == dims)) {
    return tl::unexpected(
        body_error(ErrorCode::kInvalidInput, node_,
                   fmt::format("output {} has shape {}, the model's dimensions say {}", i,
                               dims.to_string(), planned->to_string())));
  }
  return run_.bytes_of(output);
}

Status BodyRunner::run_body(std::size_t body, std::span<const std::byte* const> inputs,
                            std::span<const Dims> dims, const PlaceOutput& place) {
  if (const auto& error = code_.bodies[body].error) return tl::unexpected(*error);
  PX_RETURN_IF_ERROR(limits().status());
  if (buffers_[body] == nullptr) buffers_[body] = std::make_shared<RunBuffers>();
  Device* const device = run_.device_ == nullptr ? nullptr : run_.device_->in_body(id_, body);
  Run inner(*bodies_[body], run_, workspace_, *this, device, buffers_[body]);
  PX_RETURN_IF_ERROR(inner.start_body(inputs, dims, place));
  PX_RETURN_IF_ERROR(inner.run_in_body(self_));
  PX_RETURN_IF_ERROR(inner.finish());
  if (run_.options_.trace != nullptr) run_.add_body_trace(inner, id_);
  return {};
}

// The parts of Run that bodies need.

Run::Run(const Program& program, Run& around, std::byte* block, BodyRunner& host, Device* device,
         std::shared_ptr<RunBuffers> buffers)
    : Run(program, around.lease_, around.options_, std::move(buffers),
          around.buffers_.threads.size(), &around) {
  block_ = block;
  scratch_ = around.scratch_;
  threads_ = around.threads_;
  begin_ = around.begin_;
  limits_ = around.limits_;
  host_ = &host;
  if (device == nullptr) return;
  device_ = device;
  // Captured values are the same in each trip, and so are their copies in the workspace.
  const auto own = static_cast<std::int64_t>(graph().inputs.size() - host.captures());
  for (const ValueId id : buffers_.staged.ids()) {
    const Storage& storage = program_.storage[id];
    if (storage.kind != StorageKind::kInput || storage.position < own) buffers_.staged[id] = false;
  }
  use_device(around.async_steps_);
}

Status Run::start_body(std::span<const std::byte* const> inputs, std::span<const Dims> dims,
                       const PlaceOutput& place) {
  for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
    const ValueId id = graph().inputs[i];
    if (const auto& planned = compiled_.dims[id]) {
      if (*planned == dims[i]) continue;
      return tl::unexpected(
          Error{Stage::kRun,
                ErrorCode::kInvalidInput,
                {},
                fmt::format("'{}' of a body has shape {}, the model's dimensions say {}",
                            graph().values[id].name, dims[i].to_string(), planned->to_string())});
    }
    run_time_dims_[id] = dims[i];
    if (graph().values[id].container == nullptr) PX_RETURN_IF_ERROR(bind_symbols(id, dims[i]));
    if (compiled_.run_time_readers[id] == 0) host_->let_go(i);
  }
  return start(inputs, place);
}

/// Runs branches one after the other: the outer run uses the thread's slot for branches.
Status Run::run_in_body(Participant& self) {
  for (const auto& step : program_.plan.steps)
    for (const BranchId branch : step) {
      if (failed()) break;
      run_and_wait(branch, self);
    }
  // Wait for copies that no region needed, so that no step is pending.
  if (async_steps_ != nullptr) async_steps_->wait(deadline(), this);
  return limits_->status();
}

void Run::add_body_trace(const Run& inner, NodeId id) {
  RunTrace trace;
  inner.write_trace(trace);
  const int branch = compiled_.context->position[id].branch.value;
  const MutexLock lock(mutex_);
  for (NodeEvent& event : trace.nodes) {
    if (body_events_.size() >= kMaxBodyEvents) break;
    event.node = graph().nodes[id].name + "/" + event.node;
    event.branch = branch;
    body_events_.push_back(std::move(event));
  }
  for (RegionEvent& event : trace.regions) {
    if (region_events_.size() >= kMaxBodyEvents) break;
    event.branch = branch;
    region_events_.push_back(std::move(event));
  }
  for (CopyEvent& event : trace.copies) {
    if (copy_events_.size() >= kMaxBodyEvents) break;
    copy_events_.push_back(std::move(event));
  }
}

/// Makes bytes of the node's arena the value of an output whose dims only the run has determined.
Status Run::adopt_output(NodeId node, ValueId id, const Dims& dims, std::byte* bytes) {
  PX_RETURN_IF_ERROR(bind_symbols(id, dims));
  if (compiled_.dims[id]) {
    if (!(*compiled_.dims[id] == dims))
      return tl::unexpected(body_error(ErrorCode::kInvalidInput, graph().nodes[node],
                                       "another length than the model's dimensions say"));
    const std::int64_t size = parallax::bytes_of(graph().values[id].dtype, dims).value_or(0);
    if (size > 0) std::memcpy(bytes_of(id), bytes, static_cast<std::size_t>(size));
    arena_of(node).free(bytes);
    return {};
  }
  bytes_[id] = bytes;
  run_time_dims_[id] = dims;
  return {};
}

Status Run::run_bodies(NodeId id, Participant& self) {
  const Node& node = graph().nodes[id];
  Status status =
      node.op == OpKind::kIf ? IfRunner(*this, id, self).run() : run_loop(*this, id, self);
  if (status && compiled_.has_run_time_nodes && !failed()) release_unread_outputs(node);
  return status;
}

}  // namespace parallax
