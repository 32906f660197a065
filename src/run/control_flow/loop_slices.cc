// Slices that a Loop or a Scan reads from its inputs and joins to its outputs.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "run/control_flow/loop_runner.h"

namespace parallax {
namespace {

/// Number of slices for which a scan output of unknown length has memory at first.
constexpr std::int64_t kFirstSlices = 16;

}  // namespace

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

/// Allocates a scan output when its first slice determines the size of all slices.
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

/// Grows the memory of a scan output by half: each slice is moved about twice, and the old and the
/// new memory together are at most 2.5 times the old.
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

}  // namespace parallax
