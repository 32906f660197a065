#include "run/control_flow/loop_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"

namespace parallax {

Status LoopRunner::run() {
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

void LoopRunner::let_go(std::size_t i) {
  if (i >= parts_.first_input && i - parts_.first_input < carried_.size())
    let_go_carried(i - parts_.first_input);
}

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
    return limits().take_trips(*limit_);  // certain to fail: before any memory is allocated
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
  carried.is_object = is_object(body().values[in]);
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
    // Never written: the copy of a tensor onto itself is omitted.
    carried.written = const_cast<std::byte*>(carried.bytes);
  } else if (carried.is_object) {
    carried.written = reinterpret_cast<std::byte*>(&carried.objects[carried.next]);
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

void LoopRunner::let_go_carried(std::size_t i) {
  Carried& carried = carried_[i];
  if (std::exchange(carried.gone, true)) return;
  for (Object& object : carried.objects)
    if (reinterpret_cast<std::byte*>(&object) == carried.bytes) {
      object = Object();
      return;
    }
  if (carried.owned != nullptr) return output_arena().free(std::exchange(carried.owned, nullptr));
  let_go_input(parts_.first_input + i);
}

void LoopRunner::take_carried(std::size_t i) {
  Carried& carried = carried_[i];
  carried.dims = carried.written_dims;
  if (carried.kept) return;
  if (carried.is_object) {
    let_go_carried(i);
    carried.gone = false;
    carried.next = 1 - carried.next;
    carried.bytes = carried.written;
    return;
  }
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
    // An output of unknown length grows along its first axis, as all outputs of a Loop do.
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
    if (carried.is_object) {
      *reinterpret_cast<Object*>(output) = *reinterpret_cast<const Object*>(carried.bytes);
      continue;
    }
    const auto bytes =
        static_cast<std::size_t>(bytes_of(output_dtype(i), carried.dims).value_or(0));
    if (bytes > 0 && output != carried.bytes) std::memcpy(output, carried.bytes, bytes);
  }
  for (std::size_t i = 0; i < scan_outputs_.size(); ++i) {
    ScanOutput& output = scan_outputs_[i];
    const std::size_t at = parts_.carried + i;
    if (!node_.outputs[at].valid()) continue;
    if (!output.started) {
      // There was no trip.
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

Status run_loop(Run& run, NodeId node, Participant& self) {
  return LoopRunner(run, node, self).run();
}

}  // namespace parallax
