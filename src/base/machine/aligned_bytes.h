// Memory in which kernels work. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "parallax/result.h"

namespace parallax {

class MemorySource;
struct SharedBytes;

/// 64-byte aligned memory of fixed size, owned, or shared and then read only.
class AlignedBytes {
 public:
  /// `source` null: of the system, large where there are enough bytes. Errors: kOutOfMemory.
  static Result<AlignedBytes> allocate(std::int64_t bytes, MemorySource* source = nullptr);
  static AlignedBytes shared(SharedBytes bytes);
  /// A size without memory: data() is null.
  static AlignedBytes sized(std::int64_t bytes);
  std::byte* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    std::shared_ptr<const void> owner;  ///< of shared memory
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace parallax
