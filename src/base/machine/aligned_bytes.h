// Memory for the data of kernels. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "parallax/result.h"

namespace parallax {

class MemorySource;
struct SharedBytes;

/// Memory of fixed size, aligned to 64 bytes. It is either owned and writable, or shared and
/// read-only. Move-only.
class AlignedBytes {
 public:
  /// Allocates `bytes` bytes, not initialized, from `source`, or from the system if it is null.
  /// System memory from 2 MiB on is aligned to large pages. Errors: kOutOfMemory (stage kCompile).
  /// Sizes are rounded up to 64 bytes, and 0 to one such unit; negative ones are errors. Memory
  /// from an allocator that the user gave is writable too. If `source` has an allocator, its thread
  /// may hold only turns (MemorySource::allocate()).
  static Result<AlignedBytes> allocate(std::int64_t bytes, MemorySource* source = nullptr);
  /// Refers to shared memory and keeps its owner alive. Do not write through data(). It need not be
  /// aligned to 64 bytes. A null owner means that the memory outlives this object: it is then never
  /// freed.
  static AlignedBytes shared(SharedBytes bytes);
  /// Stores a size without memory: data() is null. For blocks of packed weights that have a size
  /// before they have memory.
  static AlignedBytes sized(std::int64_t bytes);
  /// Returns the memory; null for sized() and default-constructed objects.
  std::byte* data() const { return memory_.get(); }
  /// Returns the number of bytes that were asked for.
  std::int64_t size() const { return size_; }

 private:
  /// Frees owned memory; releases the owner of shared memory.
  struct Free {
    std::shared_ptr<const void> owner;  ///< owner of shared memory; null if the memory is to be
                                        ///< freed
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace parallax
