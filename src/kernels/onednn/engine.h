// What every oneDNN kernel shares: the engine, single-threaded execution, a process-wide cache of
// compiled primitives, weights in oneDNN's own layouts. oneDNN is used without threads of its own:
// the executor owns all parallelism, a primitive computes one tile. Thread-safety: all functions
// may be called from any thread; a DnnlPrimitive is immutable and runs on any number of threads at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>

#include "kernels/kernel.h"

namespace parallax {

const dnnl::engine& dnnl_engine();

/// While one lives, oneDNN calls of this thread use this thread alone. The thread's own OpenMP
/// setting comes back afterwards: it belongs to the caller of the library.
class DnnlSingleThread {
 public:
  DnnlSingleThread();
  ~DnnlSingleThread();
  DnnlSingleThread(const DnnlSingleThread&) = delete;
  DnnlSingleThread& operator=(const DnnlSingleThread&) = delete;

 private:
  int before_;
};

/// A compiled primitive and the layouts it works on. Absent operands have an empty descriptor.
struct DnnlPrimitive {
  dnnl::primitive primitive;
  dnnl::memory::desc src, weights, bias, dst, scratchpad;
};

/// The primitive called `key` (a text that says everything it depends on), compiled by `make` where
/// it is missing. Null where oneDNN has no implementation. Holds a bounded number of primitives:
/// compiling takes a millisecond, a plan for a new shape should find most of its tiles here.
std::shared_ptr<const DnnlPrimitive> dnnl_primitive_for(const std::string& key,
                                                        const std::function<DnnlPrimitive()>& make);

/// Everything the bytes of a tensor with this descriptor depend on, as text.
std::string dnnl_layout_key(const dnnl::memory::desc& desc);

/// A constant operand in the layout that a primitive wants: its DnnlPrimitive has the descriptor.
using DnnlPacked = std::shared_ptr<const AlignedBytes>;
/// Bytes of a constant, unaligned: `rows` runs of `row_bytes`, `stride` bytes apart.
struct DnnlSource {
  const std::byte* data = nullptr;
  std::int64_t row_bytes = 0;
  std::int64_t rows = 1;
  std::int64_t stride = 0;
};
/// `source`, whose rows end to end are laid out as `from`, in the layout `to`; shared by all who
/// ask for the same. Errors: kOutOfMemory, kInternal.
Result<DnnlPacked> dnnl_pack(PackedWeights& packed, const DnnlSource& source,
                             const dnnl::memory::desc& from, const dnnl::memory::desc& to);

/// What a primitive reads and writes in one execution; the bias may be null.
struct DnnlOperands {
  const void* src = nullptr;
  const void* weights = nullptr;
  const void* bias = nullptr;
  void* dst = nullptr;
  std::byte* scratchpad = nullptr;  ///< primitive.scratchpad bytes, 64-byte aligned
};
/// Runs on the calling thread. Errors: kInternal, kOutOfMemory.
Status dnnl_execute(const DnnlPrimitive& primitive, const DnnlOperands& operands);

/// Attributes with a scratchpad of the caller.
dnnl::primitive_attr dnnl_attributes();

/// What `make` gives, or a null kernel where oneDNN throws because it cannot take the request.
/// Errors: those of `make`, kOutOfMemory.
Result<std::unique_ptr<Kernel>> dnnl_make_kernel(
    const std::function<Result<std::unique_ptr<Kernel>>()>& make);

}  // namespace parallax
