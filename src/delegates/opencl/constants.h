// A region's constants as kernels read them. Where the device computes in the host's memory, they
// stay where they lie; elsewhere, and where their addresses do not suit, they are copied.
// Thread-safety: plain values; making them is as safe as the context.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "delegates/opencl/cl_context.h"
#include "ir/graph.h"

namespace parallax::opencl {

struct ConstantPlace {
  cl_mem buffer = nullptr;  ///< null: the device does not have it
  std::int64_t first = 0;   ///< elements
};

struct ConstantOptions {
  bool half = false;      ///< f32 is stored in 16 bits
  bool in_place = false;  ///< the device may read the host's memory
};

class RegionConstants {
 public:
  /// Of the graph's constants those in `wanted`. Their bytes must outlive this. Errors:
  /// kOutOfMemory.
  static Result<RegionConstants> place(ClContext& context, const Graph& graph,
                                       const IdVector<ValueId, bool>& wanted,
                                       const ConstantOptions& options);
  const ConstantPlace& operator[](ValueId id) const { return places_[id]; }
  /// Of copies: what the device holds beside the host's memory.
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  void borrow(ClContext& context, const Graph& graph, const std::vector<ValueId>& ids);
  Status copy(ClContext& context, ValueId id, const Constant& constant, bool half);

  IdVector<ValueId, ConstantPlace> places_;
  std::vector<OwnedBuffer> buffers_;
  std::int64_t copied_bytes_ = 0;
};

}  // namespace parallax::opencl
