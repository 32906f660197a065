#include "execute/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "execute/run.h"
#include "ops/control_flow.h"

namespace parallax {
namespace {

/// Slices that a scan output of unknown length has room for at first.
constexpr std::int64_t kFirstSlices = 16;
/// Events of bodies that a trace keeps: a loop may make any number.
constexpr std::size_t kMaxBodyEvents = std::size_t{1} << 18;

Error error_of(ErrorCode code, const Node& node, std::string message) {
  return {Stage::kExecute, code, node.name,
          fmt::format("{}: {}", to_string(node.op), std::move(message))};
}

Error too_many_trips(std::string node, std::int64_t max_trips) {
  return {
      Stage::kExecute, ErrorCode::kLimitExceeded, std::move(node),
      fmt::format("the loops of this run make more than {} trips, which is the limit", max_trips)};
}

/// Bytes of a tensor; nothing where 63 bits do not suffice.
std::optional<std::int64_t> bytes_of_tensor(DType dtype, const Dims& dims) {
  const auto elements = dims.checked_elements();
  return elements ? checked_mul(*elements, size_of(dtype)) : std::nullopt;
}

Dims with_axis(const Dims& slice, int axis, std::int64_t length) {
  Dims dims;
  for (int i = 0; i <= slice.rank(); ++i) {
    if (i == axis) dims.push_back(length);
    if (i < slice.rank()) dims.push_back(slice[i]);
  }
  return dims;
}

/// Where the slices of a tensor lie: `count` pieces of `bytes`, `stride` apart.
struct Slices {
  std::int64_t count = 1, bytes = 0, stride = 0;

  Slices(DType dtype, const Dims& dims, int axis) {
    bytes = size_of(dtype);
    for (int i = 0; i < axis; ++i) count *= dims[i];
    for (int i = axis + 1; i < dims.rank(); ++i) bytes *= dims[i];
    stride = bytes * dims[axis];
  }
  void gather(const std::byte* whole, std::int64_t position, std::byte* slice) const {
    if (bytes == 0) return;
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(slice + i * bytes, whole + i * stride + position * bytes,
                  static_cast<std::size_t>(bytes));
  }
  void scatter(const std::byte* slice, std::int64_t position, std::byte* whole) const {
    if (bytes == 0) return;
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(whole + i * stride + position * bytes, slice + i * bytes,
                  static_cast<std::size_t>(bytes));
  }
};

}  // namespace

Status RunLimits::check_time() const {
  if (!deadline || std::chrono::steady_clock::now() < *deadline) return {};
  return tl::unexpected(
      Error{Stage::kExecute, ErrorCode::kLimitExceeded, {}, "the time limit of the run is over"});
}

Status RunLimits::take_trips(std::int64_t count) {
  if (trips_left.fetch_sub(count, std::memory_order_relaxed) < count)
    return tl::unexpected(too_many_trips({}, max_trips));
  return check_time();
}

Status check_known_trips(const Compiled& compiled, std::int64_t max_trips) {
  for (const auto& [id, bodies] : compiled.context->bodies)
    if (compiled.nodes[id].trips.value_or(0) > max_trips)
      return tl::unexpected(too_many_trips(compiled.graph().nodes[id].name, max_trips));
  return {};
}

/// What a node with bodies uses of the run that it is part of.
class BodyRunner {
 public:
  BodyRunner(Run& run, NodeId id, Participant& self)
      : run_(run),
        id_(id),
        node_(run.graph().nodes[id]),
        code_(run.compiled_.nodes[id]),
        self_(self),
        arena_(run.lease_, run.options_.poison) {
    if (code_.workspace >= 0)
      workspace_ =
          run.block_ + run.program_.plan.offsets.offset[static_cast<std::size_t>(code_.workspace)];
  }

 protected:
  /// The bytes of input `i`, aligned to its elements. Errors: kOutOfMemory.
  Result<const std::byte*> input(std::size_t i) const {
    const ValueId id = node_.inputs[i];
    if (const auto& constant = run_.graph().values[run_.compiled_.root[id]].constant)
      return run_.compiled_.context->constants.aligned(*constant);
    return run_.bytes_of(id);
  }
  const Dims& input_dims(std::size_t i) const { return run_.dims_of(node_.inputs[i]); }
  DType output_dtype(std::size_t i) const { return run_.graph().values[node_.outputs[i]].dtype; }
  /// Memory that goes when the node is done. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(DType dtype, const Dims& dims) {
    const auto bytes = bytes_of_tensor(dtype, dims);
    if (bytes) return arena_.allocate(*bytes);
    return tl::unexpected(error_of(ErrorCode::kOutOfMemory, node_,
                                   "a tensor of shape " + dims.to_string() + " is too large"));
  }
  bool output_planned(std::size_t i) const {
    return node_.outputs[i].valid() && run_.compiled_.dims[node_.outputs[i]].has_value();
  }

  /// The memory of output `i` of the node. Errors: kInvalidInput where its dims are not those that
  /// the plan was made for.
  Result<std::byte*> make_output(std::size_t i, const Dims& dims) {
    const ValueId output = node_.outputs[i];
    const auto& planned = run_.compiled_.dims[output];
    if (!planned) return run_.make_output(id_, output, dims);
    if (!(*planned == dims)) {
      return tl::unexpected(
          error_of(ErrorCode::kInvalidInput, node_,
                   fmt::format("output {} has shape {}, the model's dimensions say {}", i,
                               dims.to_string(), planned->to_string())));
    }
    return run_.bytes_of(output);
  }

  /// Runs a body once.
  Status run_body(const BodyProgram& body, std::span<const std::byte* const> inputs,
                  std::span<const Dims> dims, const PlaceOutput& place) {
    if (body.error) return tl::unexpected(*body.error);
    if (run_.failed()) return tl::unexpected(error_of(ErrorCode::kInternal, node_, "stopped"));
    Run inner(*body.program, run_, workspace_);
    PX_RETURN_IF_ERROR(inner.start_body(inputs, dims, place));
    PX_RETURN_IF_ERROR(inner.run_in_body(self_));
    PX_RETURN_IF_ERROR(inner.finish(place));
    if (run_.options_.trace != nullptr) run_.add_body_trace(inner, id_);
    return {};
  }

  Run& run_;
  const NodeId id_;
  const Node& node_;
  const CompiledNode& code_;
  Participant& self_;
  std::byte* workspace_ = nullptr;
  DynamicArena arena_;  // what has no room in the workspace, until the node is done
};

class IfRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  Status run() {
    PX_ASSIGN(const std::byte* const condition, input(0));
    if (input_dims(0).elements() != 1)
      return tl::unexpected(
          error_of(ErrorCode::kInvalidInput, node_, "the condition must be one element"));
    const BodyProgram& body = code_.bodies[*condition != std::byte{0} ? 0 : 1];
    std::vector<const std::byte*> inputs;
    std::vector<Dims> dims;
    for (std::size_t i = 1; i < node_.inputs.size(); ++i) {
      PX_ASSIGN(inputs.emplace_back(), input(i));
      dims.push_back(input_dims(i));
    }
    return run_body(body, inputs, dims,
                    [&](int output, DType dtype, const Dims& shape) -> Result<std::byte*> {
                      const auto i = static_cast<std::size_t>(output);
                      if (node_.outputs[i].valid()) return make_output(i, shape);
                      return allocate(dtype, shape);
                    });
  }
};

class LoopRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  Status run() {
    PX_RETURN_IF_ERROR(begin());
    std::int64_t trip = 0;
    for (; goes_on_ && (!limit_ || trip < *limit_); ++trip) {
      PX_RETURN_IF_ERROR(run_.limits_->take_trips(1));
      PX_RETURN_IF_ERROR(run_trip(trip));
    }
    return end(trip);
  }

 private:
  /// A value from trip to trip: at first where the node's input lies, then in one of two buffers in
  /// turn, the first of which is the node's output.
  struct Carried {
    const std::byte* bytes = nullptr;
    Dims dims;
    std::byte* buffers[2] = {nullptr, nullptr};  ///< null: of unknown size
    int next = 0;
    std::byte* written = nullptr;  ///< by this trip
    Dims written_dims;
    std::byte* owned = nullptr;  ///< in arena_, where the size is not known
    bool kept = false;           ///< the body gives back what it gets
  };
  struct ScanInput {
    const std::byte* bytes = nullptr;
    ScanAxis axis;
    Slices slices;
    std::byte* slice = nullptr;  ///< null: read in place
  };
  struct ScanOutput {
    bool started = false;
    bool read = true;  ///< false: nobody wants it, each slice overwrites the last
    Dims slice_dims;
    DType dtype = DType::kF32;
    ScanAxis axis;
    std::byte* bytes = nullptr;
    std::int64_t room = 0;       ///< slices
    std::byte* slice = nullptr;  ///< null: written in place
    std::int64_t slice_bytes = 0;
  };

  const Graph& body() const { return code_.bodies[0].program->compiled->graph(); }
  std::byte* planned(std::int64_t offset) const {
    return offset < 0 ? nullptr : workspace_ + offset;
  }

  Status begin();
  Status begin_counters();
  Status begin_carried(std::size_t i);
  Status begin_scan_input(std::size_t i);
  Status begin_scan_output(std::size_t i);
  Status run_trip(std::int64_t trip);
  Result<std::byte*> place(std::size_t output, DType dtype, const Dims& dims, std::int64_t trip);
  Result<std::byte*> place_carried(Carried& carried, DType dtype, const Dims& dims);
  Result<std::byte*> place_slice(std::size_t i, DType dtype, const Dims& dims, std::int64_t trip);
  Status start_scan_output(std::size_t i, DType dtype, const Dims& dims);
  Status make_room(ScanOutput& output, std::int64_t slices);
  void take_results(std::int64_t trip);
  Status end(std::int64_t trips);
  std::int64_t position(const ScanAxis& axis, std::int64_t trip) const {
    return axis.reverse ? *limit_ - 1 - trip : trip;
  }

  LoopParts parts_;
  std::optional<std::int64_t> limit_;
  bool exact_ = false;  ///< the body runs limit_ times
  bool goes_on_ = true;
  std::vector<Carried> carried_;
  std::vector<ScanInput> scan_inputs_;
  std::vector<ScanOutput> scan_outputs_;
  std::vector<const std::byte*> inputs_;
  std::vector<Dims> dims_;
  alignas(kAlignment) std::int64_t iteration_ = 0;
  alignas(kAlignment) std::byte condition_{1};
  alignas(kAlignment) std::byte next_condition_[kAlignment] = {};
};

Status LoopRunner::begin() {
  PX_ASSIGN(parts_, loop_parts(node_));
  scan_outputs_.resize(parts_.scan_outputs);
  if (node_.op == OpKind::kLoop) {
    PX_RETURN_IF_ERROR(begin_counters());
  } else {
    exact_ = true;
    for (std::size_t i = 0; i < parts_.scan_inputs; ++i) PX_RETURN_IF_ERROR(begin_scan_input(i));
  }
  for (std::size_t i = 0; i < parts_.scan_outputs; ++i) PX_RETURN_IF_ERROR(begin_scan_output(i));
  if (exact_ && *limit_ > run_.limits_->max_trips)
    return run_.limits_->take_trips(*limit_);  // sure to fail: before any memory is taken
  for (std::size_t i = 0; i < parts_.carried; ++i) PX_RETURN_IF_ERROR(begin_carried(i));
  const std::size_t own = parts_.first_input + parts_.carried + parts_.scan_inputs;
  inputs_.resize(own + parts_.captures);
  dims_.resize(own + parts_.captures);
  for (std::size_t i = own; i < inputs_.size(); ++i) {
    PX_ASSIGN(inputs_[i], input(i));
    dims_[i] = input_dims(i);
  }
  return {};
}

Status LoopRunner::begin_counters() {
  for (std::size_t i = 0; i < 2; ++i) {
    if (node_.inputs[i].valid() && input_dims(i).elements() != 1)
      return tl::unexpected(error_of(ErrorCode::kInvalidInput, node_,
                                     fmt::format("input {} must be one element", i)));
  }
  if (node_.inputs[0].valid()) {
    PX_ASSIGN(const std::byte* const bytes, input(0));
    std::int64_t trips = 0;
    std::memcpy(&trips, bytes, sizeof trips);
    limit_ = std::max<std::int64_t>(trips, 0);
  }
  if (node_.inputs[1].valid()) {
    PX_ASSIGN(const std::byte* const bytes, input(1));
    goes_on_ = *bytes != std::byte{0};
  }
  if (!goes_on_) limit_ = 0;
  exact_ = limit_ && (*limit_ == 0 || never_stops_early(body()));
  return {};
}

Status LoopRunner::begin_carried(std::size_t i) {
  Carried& carried = carried_.emplace_back();
  const std::size_t at = parts_.first_input + i;
  PX_ASSIGN(carried.bytes, input(at));
  carried.dims = input_dims(at);
  const auto& compiled = *code_.bodies[0].program->compiled;
  const ValueId in = body().inputs[at], out = body().outputs[parts_.first_output + i];
  carried.kept = compiled.root[out] == in;
  if (!compiled.dims[in]) return {};
  carried.buffers[0] = planned(code_.loop.carried[i].first);
  if (output_planned(i)) {
    PX_ASSIGN(carried.buffers[0], make_output(i, carried.dims));
  }
  carried.buffers[1] = planned(code_.loop.carried[i].second);
  // The last trip writes the node's output.
  if (exact_ && *limit_ > 0) carried.next = static_cast<int>((*limit_ - 1) & 1);
  return {};
}

Status LoopRunner::begin_scan_input(std::size_t i) {
  const std::size_t at = parts_.carried + i;
  const Dims& dims = input_dims(at);
  PX_ASSIGN(const ScanAxis axis, scan_input_axis(node_, i, parts_.scan_inputs, dims.rank()));
  const std::int64_t length = dims[axis.axis];
  if (limit_ && *limit_ != length) {
    return tl::unexpected(
        error_of(ErrorCode::kInvalidInput, node_,
                 fmt::format("scan inputs of different lengths: {} and {}", *limit_, length)));
  }
  limit_ = length;
  PX_ASSIGN(const std::byte* const bytes, input(at));
  scan_inputs_.push_back({bytes, axis,
                          Slices(body().values[body().inputs[at]].dtype, dims, axis.axis),
                          planned(code_.loop.scan_inputs[i])});
  ScanInput& scan = scan_inputs_.back();
  if (axis.axis > 0 && scan.slice == nullptr) {
    PX_ASSIGN(scan.slice, allocate(DType::kU8, Dims{scan.slices.count, scan.slices.bytes}));
  }
  return {};
}

Status LoopRunner::begin_scan_output(std::size_t i) {
  const ValueId out = body().outputs[parts_.first_output + parts_.carried + i];
  const int rank = static_cast<int>(body().values[out].shape.size()) + 1;
  scan_outputs_[i].dtype = body().values[out].dtype;
  PX_ASSIGN(scan_outputs_[i].axis, scan_output_axis(node_, i, parts_.scan_outputs, rank));
  return {};
}

Status LoopRunner::run_trip(std::int64_t trip) {
  iteration_ = trip;
  if (parts_.first_input == 2) {
    for (std::size_t i = 0; i < 2; ++i)
      if (body().values[body().inputs[i]].shape.size() == 1) dims_[i] = Dims{1};
    inputs_[0] = reinterpret_cast<const std::byte*>(&iteration_);
    inputs_[1] = &condition_;
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    inputs_[parts_.first_input + i] = carried_[i].bytes;
    dims_[parts_.first_input + i] = carried_[i].dims;
  }
  for (std::size_t i = 0; i < scan_inputs_.size(); ++i) {
    const ScanInput& scan = scan_inputs_[i];
    const std::int64_t at = position(scan.axis, trip);
    if (scan.slice != nullptr) scan.slices.gather(scan.bytes, at, scan.slice);
    inputs_[parts_.carried + i] =
        scan.slice != nullptr ? scan.slice : scan.bytes + at * scan.slices.bytes;
    const Dims& whole = input_dims(parts_.carried + i);
    Dims dims;
    for (int axis = 0; axis < whole.rank(); ++axis)
      if (axis != scan.axis.axis) dims.push_back(whole[axis]);
    dims_[parts_.carried + i] = dims;
  }
  PX_RETURN_IF_ERROR(
      run_body(code_.bodies[0], inputs_, dims_, [&](int output, DType dtype, const Dims& dims) {
        return place(static_cast<std::size_t>(output), dtype, dims, trip);
      }));
  take_results(trip);
  return {};
}

Result<std::byte*> LoopRunner::place(std::size_t output, DType dtype, const Dims& dims,
                                     std::int64_t trip) {
  if (output < parts_.first_output) {
    if (dims.elements() == 1) return next_condition_;
    return tl::unexpected(
        error_of(ErrorCode::kInvalidInput, node_, "the body's condition must be one element"));
  }
  output -= parts_.first_output;
  if (output < parts_.carried) return place_carried(carried_[output], dtype, dims);
  return place_slice(output - parts_.carried, dtype, dims, trip);
}

Result<std::byte*> LoopRunner::place_carried(Carried& carried, DType dtype, const Dims& dims) {
  carried.written_dims = dims;
  if (carried.kept) {
    // Nobody writes: the copy of a tensor onto itself is left out.
    carried.written = const_cast<std::byte*>(carried.bytes);
  } else if (carried.buffers[0] != nullptr && carried.buffers[1] != nullptr) {
    if (!(dims == carried.dims)) {
      return tl::unexpected(error_of(ErrorCode::kInvalidInput, node_,
                                     fmt::format("a carried value of shape {} comes back as {}",
                                                 carried.dims.to_string(), dims.to_string())));
    }
    carried.written = carried.buffers[carried.next];
  } else {
    PX_ASSIGN(carried.written, allocate(dtype, dims));
  }
  return carried.written;
}

Result<std::byte*> LoopRunner::place_slice(std::size_t i, DType dtype, const Dims& dims,
                                           std::int64_t trip) {
  ScanOutput& output = scan_outputs_[i];
  if (!output.started) PX_RETURN_IF_ERROR(start_scan_output(i, dtype, dims));
  if (!(output.slice_dims == dims)) {
    return tl::unexpected(error_of(ErrorCode::kInvalidInput, node_,
                                   fmt::format("scan output {} has slices of shapes {} and {}", i,
                                               output.slice_dims.to_string(), dims.to_string())));
  }
  if (output.read && trip >= output.room) PX_RETURN_IF_ERROR(make_room(output, trip + 1));
  if (output.slice != nullptr) return output.slice;
  return output.bytes + position(output.axis, trip) * output.slice_bytes;
}

/// The first slice tells the size of all.
Status LoopRunner::start_scan_output(std::size_t i, DType dtype, const Dims& dims) {
  ScanOutput& output = scan_outputs_[i];
  const auto bytes = bytes_of_tensor(dtype, dims);
  const auto whole = exact_ && bytes ? checked_mul(*bytes, *limit_) : bytes;
  if (!whole || dims.rank() == Dims::kMaxRank)
    return tl::unexpected(error_of(ErrorCode::kOutOfMemory, node_, "a scan output is too large"));
  output.started = true;
  output.slice_dims = dims;
  output.dtype = dtype;
  output.slice_bytes = *bytes;
  output.slice = planned(code_.loop.scan_outputs[i]);
  output.read = node_.outputs[parts_.carried + i].valid();
  const bool direct = output.read && output.axis.axis == 0 && *bytes % kAlignment == 0;
  if (!direct && output.slice == nullptr) {
    PX_ASSIGN(output.slice, allocate(dtype, dims));
  }
  if (!exact_ || !output.read) return {};
  output.room = *limit_;
  PX_ASSIGN(output.bytes,
            make_output(parts_.carried + i, with_axis(dims, output.axis.axis, *limit_)));
  return {};
}

/// Twice as much as before: each slice is moved about once.
Status LoopRunner::make_room(ScanOutput& output, std::int64_t slices) {
  const std::int64_t wanted = std::max({slices, kFirstSlices, 2 * output.room});
  const std::int64_t room = limit_ ? std::min(wanted, *limit_) : wanted;
  const auto bytes = checked_mul(room, output.slice_bytes);
  if (!bytes)
    return tl::unexpected(error_of(ErrorCode::kOutOfMemory, node_, "a scan output is too large"));
  PX_ASSIGN(std::byte* const larger, run_.arena_of(id_).allocate(*bytes));
  if (output.room > 0 && output.slice_bytes > 0)
    std::memcpy(larger, output.bytes, static_cast<std::size_t>(output.room * output.slice_bytes));
  run_.arena_of(id_).free(output.bytes);
  output.bytes = larger;
  output.room = room;
  return {};
}

void LoopRunner::take_results(std::int64_t trip) {
  if (parts_.first_output == 1) {
    condition_ = next_condition_[0] == std::byte{0} ? std::byte{0} : std::byte{1};
    goes_on_ = condition_ != std::byte{0};
  }
  for (Carried& carried : carried_) {
    if (carried.kept) continue;
    carried.bytes = carried.written;
    carried.dims = carried.written_dims;
    if (carried.buffers[0] != nullptr && carried.buffers[1] != nullptr) {
      carried.next = 1 - carried.next;
    } else {
      arena_.free(std::exchange(carried.owned, carried.written));
    }
  }
  for (ScanOutput& output : scan_outputs_) {
    if (output.slice == nullptr || output.slice_bytes == 0 || !output.read) continue;
    // An output of unknown length grows along its first axis: of a Loop, whose axis it is.
    const Dims all = with_axis(output.slice_dims, output.axis.axis, output.room);
    Slices(output.dtype, all, output.axis.axis)
        .scatter(output.slice, position(output.axis, trip), output.bytes);
  }
}

Status LoopRunner::end(std::int64_t trips) {
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& carried = carried_[i];
    if (!node_.outputs[i].valid()) continue;
    PX_ASSIGN(std::byte* const output, make_output(i, carried.dims));
    const auto bytes = static_cast<std::size_t>(carried.dims.elements() * size_of(output_dtype(i)));
    if (bytes > 0 && output != carried.bytes) std::memcpy(output, carried.bytes, bytes);
  }
  for (std::size_t i = 0; i < scan_outputs_.size(); ++i) {
    ScanOutput& output = scan_outputs_[i];
    const std::size_t at = parts_.carried + i;
    if (!node_.outputs[at].valid()) continue;
    if (!output.started) {
      // No trip: sizes that nobody knows are 0.
      const auto& compiled = *code_.bodies[0].program->compiled;
      const ValueId out = body().outputs[parts_.first_output + at];
      Dims slice;
      for (const Expr& dim : body().values[out].shape)
        slice.push_back(dim.evaluate(compiled.binding.symbols).value_or(0));
      PX_RETURN_IF_ERROR(make_output(at, with_axis(slice, output.axis.axis, 0)));
    } else if (!exact_) {
      PX_RETURN_IF_ERROR(run_.adopt_output(id_, node_.outputs[at],
                                           with_axis(output.slice_dims, output.axis.axis, trips),
                                           output.bytes));
    }
  }
  return {};
}

// The parts of Run that bodies need.

Run::Run(const Program& program, Run& around, std::byte* block)
    : Run(program, around.lease_, around.options_, std::make_shared<RunBuffers>(),
          around.buffers_.threads.size()) {
  block_ = block;
  scratch_ = around.scratch_;
  threads_ = around.threads_;
  begin_ = around.begin_;
  limits_ = around.limits_;
  around_ = &around;
}

Status Run::start_body(std::span<const std::byte* const> inputs, std::span<const Dims> dims,
                       const PlaceOutput& place) {
  for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
    const ValueId id = graph().inputs[i];
    if (const auto& planned = compiled_.dims[id]) {
      if (*planned == dims[i]) continue;
      return tl::unexpected(
          Error{Stage::kExecute,
                ErrorCode::kInvalidInput,
                {},
                fmt::format("'{}' of a body has shape {}, the model's dimensions say {}",
                            graph().values[id].name, dims[i].to_string(), planned->to_string())});
    }
    run_time_dims_[id] = dims[i];
    PX_RETURN_IF_ERROR(bind_symbols(id, dims[i]));
  }
  return start(inputs, place);
}

/// Branches one after the other: the thread's place for branches is taken by the run around.
Status Run::run_in_body(Participant& self) {
  for (const auto& step : program_.plan.steps)
    for (const BranchId branch : step) {
      if (failed() || around_->failed()) break;
      run_branch(branch, self);
    }
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected(*std::move(error_));
  return {};
}

void Run::add_body_trace(const Run& inner, NodeId id) {
  RunTrace trace;
  inner.write_trace(trace);
  const std::lock_guard lock(mutex_);
  for (NodeEvent& event : trace.nodes) {
    if (body_events_.size() >= kMaxBodyEvents) return;
    event.node = graph().nodes[id].name + "/" + event.node;
    event.branch = compiled_.context->position[id].branch.value;
    body_events_.push_back(std::move(event));
  }
}

/// Makes bytes of the node's arena the value of an output whose dims nobody knew.
Status Run::adopt_output(NodeId node, ValueId id, const Dims& dims, std::byte* bytes) {
  PX_RETURN_IF_ERROR(bind_symbols(id, dims));
  if (compiled_.dims[id]) {
    if (!(*compiled_.dims[id] == dims))
      return tl::unexpected(error_of(ErrorCode::kInvalidInput, graph().nodes[node],
                                     "another length than the model's dimensions say"));
    const std::int64_t size = dims.elements() * size_of(graph().values[id].dtype);
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
      node.op == OpKind::kIf ? IfRunner(*this, id, self).run() : LoopRunner(*this, id, self).run();
  if (status && compiled_.has_run_time_nodes && !failed()) release_unread_outputs(node);
  return status;
}

}  // namespace parallax
