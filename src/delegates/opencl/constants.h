// A region's constants in the form that kernels read. If the device computes in host memory, they
// stay in place; otherwise, or if their addresses are not suitable, they are copied. Thread-safety:
// plain values; creating them is as safe as the context.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "delegates/opencl/device/cl_context.h"
#include "ir/graph.h"

namespace parallax::opencl {

/// The location of a constant in a buffer of the device.
struct ConstantPlace {
  /// Null: it is not on the device. Owned by the RegionConstants.
  cl_mem buffer = nullptr;
  /// Elements. From the start of the buffer to the constant's first element.
  std::int64_t first = 0;
};

/// How constants are stored.
struct ConstantOptions {
  /// f32 elements are stored in 16 bits. Such constants are copied, also on devices that work in
  /// host memory.
  bool half = false;
  /// The device may read the host's memory. Constants that are not aligned to their elements are
  /// copied nevertheless.
  bool in_place = false;
};

/// Owns the buffers of the constants.
class RegionConstants {
 public:
  /// Places the graph's constants that are in `wanted`. Their bytes must outlive the result.
  /// Errors: kOutOfMemory. `wanted` has an entry per value of the graph. A driver that rejects host
  /// memory gets copies. Copies have been read from the host when this returns. Errors of the
  /// driver may also be kInternal.
  static Result<RegionConstants> place(ClContext& context, const Graph& graph,
                                       const IdVector<ValueId, bool>& wanted,
                                       const ConstantOptions& options);
  /// Returns the place of a constant; its buffer lives as long as this. The buffer is null for
  /// values that are no constants or are not wanted.
  const ConstantPlace& operator[](ValueId id) const { return places_[id]; }
  /// Returns the bytes of copies, which the device holds in addition to the host's memory.
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  /// Wraps pages of host memory; constants that share a page share a buffer. Those that the driver
  /// rejects, or that exceed its buffers, stay without a place.
  void borrow(ClContext& context, const Graph& graph, const std::vector<ValueId>& ids);
  Status copy(ClContext& context, ValueId id, const Constant& constant, bool half);

  IdVector<ValueId, ConstantPlace> places_;
  std::vector<OwnedBuffer> buffers_;
  std::int64_t copied_bytes_ = 0;
};

}  // namespace parallax::opencl
