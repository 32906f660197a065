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
  cl_mem buffer = nullptr;  ///< null: it is not on the device
  std::int64_t first = 0;   ///< elements
};

/// How constants are stored.
struct ConstantOptions {
  bool half = false;      ///< f32 elements are stored in 16 bits
  bool in_place = false;  ///< the device may read the host's memory
};

/// Owns the buffers of the constants.
class RegionConstants {
 public:
  /// Places the graph's constants that are in `wanted`. Their bytes must outlive the result.
  /// Errors: kOutOfMemory.
  static Result<RegionConstants> place(ClContext& context, const Graph& graph,
                                       const IdVector<ValueId, bool>& wanted,
                                       const ConstantOptions& options);
  /// Returns the place of a constant; its buffer lives as long as this.
  const ConstantPlace& operator[](ValueId id) const { return places_[id]; }
  /// Returns the bytes of copies, which the device holds in addition to the host's memory.
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  void borrow(ClContext& context, const Graph& graph, const std::vector<ValueId>& ids);
  Status copy(ClContext& context, ValueId id, const Constant& constant, bool half);

  IdVector<ValueId, ConstantPlace> places_;
  std::vector<OwnedBuffer> buffers_;
  std::int64_t copied_bytes_ = 0;
};

}  // namespace parallax::opencl
