// Loop and Scan: trips of a body, values carried from one to the next, slices of inputs and
// outputs.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "ops/control_flow.h"
#include "run/body_runner.h"
#include "run/slices.h"

namespace parallax {
namespace {

/// Slices that a scan output of unknown length has room for at first.
constexpr std::int64_t kFirstSlices = 16;

class LoopRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  Status run() {
    PX_RETURN_IF_ERROR(begin());
    std::int64_t trip = 0;
    for (; goes_on_ && (!limit_ || trip < *limit_); ++trip) {
      PX_RETURN_IF_ERROR(limits().take_trips(1));
      PX_RETURN_IF_ERROR(run_trip(trip));
    }
    PX_RETURN_IF_ERROR(end(trip));
    let_go_inputs();
    return {};
  }

  void let_go(std::size_t i) override {
    if (i >= parts_.first_input && i - parts_.first_input < carried_.size())
      let_go_carried(i - parts_.first_input);
  }

 private:
  /// A value from trip to trip: at first where the node's input lies, then in one of two buffers in
  /// turn, the first of which is the node's output. One whose size only running tells gets a block
  /// of output_arena() in each trip; the block of the trip before goes with its last reader.
  struct Carried {
    const std::byte* bytes = nullptr;
    Dims dims;
    std::byte* buffers[2] = {nullptr, nullptr};
    int next = 0;
    std::byte* written = nullptr;  ///< by this trip
    Dims written_dims;
    std::byte* owned = nullptr;  ///< `bytes`, where they are a block
    bool gone = false;           ///< `bytes` are read no more
    bool kept = false;           ///< the body gives back what it gets
    bool planned = false;        ///< into the buffers, which may be null where it has no bytes
  };
  struct ScanInput {
    const std::byte* bytes = nullptr;
    ScanAxis axis;
    Slices slices;
    std::byte* slice = nullptr;  ///< null: read in place
  };
  struct ScanOutput {
    bool started = false;
    bool read = true;  ///< false: it is not used, each slice overwrites the last
    Dims slice_dims;
    DType dtype = DType::kF32;
    ScanAxis axis;
    std::byte* bytes = nullptr;
    std::int64_t room = 0;       ///< slices
    std::byte* slice = nullptr;  ///< null: written in place
    std::int64_t slice_bytes = 0;
  };

  const Graph& body() const { return bodies_[0]->compiled().graph(); }
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
  void let_go_carried(std::size_t i);
  void take_results(std::int64_t trip);
  void take_carried(std::size_t i);
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
  if (exact_ && *limit_ > limits().max_trips)
    return limits().take_trips(*limit_);  // sure to fail: before any memory is taken
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
      return tl::unexpected(body_error(ErrorCode::kInvalidInput, node_,
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
  const auto& compiled = bodies_[0]->compiled();
  const ValueId in = body().inputs[at], out = body().outputs[parts_.first_output + i];
  carried.kept = compiled.root[out] == in;
  if (!compiled.dims[in]) return {};
  carried.buffers[0] = planned(code_.loop.carried[i].first);
  if (output_planned(i)) {
    PX_ASSIGN(carried.buffers[0], make_output(i, carried.dims));
  }
  carried.buffers[1] = planned(code_.loop.carried[i].second);
  carried.planned = carried.dims.elements() == 0 ||
                    (carried.buffers[0] != nullptr && carried.buffers[1] != nullptr);
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
        body_error(ErrorCode::kInvalidInput, node_,
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
      dims_[i] = Dims(std::vector<std::int64_t>(body().values[body().inputs[i]].shape.size(), 1));
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
  PX_RETURN_IF_ERROR(run_body(0, inputs_, dims_, [&](int output, DType dtype, const Dims& dims) {
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
        body_error(ErrorCode::kInvalidInput, node_, "the body's condition must be one element"));
  }
  output -= parts_.first_output;
  if (output < parts_.carried) return place_carried(carried_[output], dtype, dims);
  return place_slice(output - parts_.carried, dtype, dims, trip);
}

Result<std::byte*> LoopRunner::place_carried(Carried& carried, DType dtype, const Dims& dims) {
  carried.written_dims = dims;
  if (carried.kept) {
    // Nothing writes here: the copy of a tensor onto itself is left out.
    carried.written = const_cast<std::byte*>(carried.bytes);
  } else if (carried.planned) {
    if (!(dims == carried.dims)) {
      return tl::unexpected(body_error(ErrorCode::kInvalidInput, node_,
                                       fmt::format("a carried value of shape {} comes back as {}",
                                                   carried.dims.to_string(), dims.to_string())));
    }
    carried.written = carried.buffers[carried.next];
  } else {
    PX_ASSIGN(carried.written, allocate(output_arena(), dtype, dims));
  }
  return carried.written;
}

Result<std::byte*> LoopRunner::place_slice(std::size_t i, DType dtype, const Dims& dims,
                                           std::int64_t trip) {
  ScanOutput& output = scan_outputs_[i];
  if (!output.started) PX_RETURN_IF_ERROR(start_scan_output(i, dtype, dims));
  if (!(output.slice_dims == dims)) {
    return tl::unexpected(body_error(ErrorCode::kInvalidInput, node_,
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
  const auto bytes = bytes_of(dtype, dims);
  const auto whole = exact_ && bytes ? checked_mul(*bytes, *limit_) : bytes;
  if (!whole || dims.rank() == Dims::kMaxRank)
    return tl::unexpected(body_error(ErrorCode::kOutOfMemory, node_, "a scan output is too large"));
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

/// Half as much again: each slice is moved about twice, and both places together are at most 2.5
/// times what was there.
Status LoopRunner::make_room(ScanOutput& output, std::int64_t slices) {
  const std::int64_t wanted = std::max({slices, kFirstSlices, output.room + output.room / 2});
  const std::int64_t room = limit_ ? std::min(wanted, *limit_) : wanted;
  const auto bytes = checked_mul(room, output.slice_bytes);
  if (!bytes)
    return tl::unexpected(body_error(ErrorCode::kOutOfMemory, node_, "a scan output is too large"));
  PX_ASSIGN(std::byte* const larger, output_arena().allocate(*bytes, true));
  if (output.room > 0 && output.slice_bytes > 0)
    std::memcpy(larger, output.bytes, static_cast<std::size_t>(output.room * output.slice_bytes));
  output_arena().free(output.bytes);
  output.bytes = larger;
  output.room = room;
  return {};
}

void LoopRunner::let_go_carried(std::size_t i) {
  Carried& carried = carried_[i];
  if (std::exchange(carried.gone, true)) return;
  if (carried.owned != nullptr) return output_arena().free(std::exchange(carried.owned, nullptr));
  let_go_input(parts_.first_input + i);
}

void LoopRunner::take_carried(std::size_t i) {
  Carried& carried = carried_[i];
  carried.dims = carried.written_dims;
  if (carried.kept) return;
  carried.bytes = carried.written;
  if (carried.planned) {
    carried.next = 1 - carried.next;
    return;
  }
  let_go_carried(i);
  carried.owned = carried.written;
  carried.gone = false;
}

void LoopRunner::take_results(std::int64_t trip) {
  if (parts_.first_output == 1) {
    condition_ = next_condition_[0] == std::byte{0} ? std::byte{0} : std::byte{1};
    goes_on_ = condition_ != std::byte{0};
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) take_carried(i);
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
    Carried& carried = carried_[i];
    std::byte* const owned = std::exchange(carried.owned, nullptr);
    const bool wanted = node_.outputs[i].valid();
    if (owned != nullptr) {
      if (!wanted) output_arena().free(owned);
      if (wanted) PX_RETURN_IF_ERROR(adopt_output(i, carried.dims, owned));
      continue;
    }
    if (!wanted) continue;
    PX_ASSIGN(std::byte* const output, make_output(i, carried.dims));
    const auto bytes =
        static_cast<std::size_t>(bytes_of(output_dtype(i), carried.dims).value_or(0));
    if (bytes > 0 && output != carried.bytes) std::memcpy(output, carried.bytes, bytes);
  }
  for (std::size_t i = 0; i < scan_outputs_.size(); ++i) {
    ScanOutput& output = scan_outputs_[i];
    const std::size_t at = parts_.carried + i;
    if (!node_.outputs[at].valid()) continue;
    if (!output.started) {
      // No trip.
      Dims dims = known_dims(at);
      dims[output.axis.axis] = 0;
      PX_RETURN_IF_ERROR(make_output(at, dims));
    } else if (!exact_) {
      PX_RETURN_IF_ERROR(
          adopt_output(at, with_axis(output.slice_dims, output.axis.axis, trips), output.bytes));
    }
  }
  return {};
}

}  // namespace

Status run_loop(Run& run, NodeId node, Participant& self) {
  return LoopRunner(run, node, self).run();
}

}  // namespace parallax
