// Weights in the layout a kernel wants, made once and shared by all plans and kernels that ask for
// the same packing of the same constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "parallax/result.h"

namespace parallax {

/// 64-byte aligned memory of fixed size, owned.
class AlignedBytes {
 public:
  /// Errors: kOutOfMemory.
  static Result<AlignedBytes> allocate(std::int64_t bytes);
  std::byte* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

/// Thread-safe. One per Model.
class PackedWeights {
 public:
  /// The packing `layout` (a text that says everything the bytes depend on) of the constant at
  /// `source`; `fill` writes it where it is missing. Errors: kOutOfMemory.
  Result<std::shared_ptr<const AlignedBytes>> get(const std::byte* source,
                                                  const std::string& layout, std::int64_t bytes,
                                                  const std::function<void(std::byte*)>& fill);
  /// Bytes of all packings held.
  std::int64_t total_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<const std::byte*, std::string>, std::shared_ptr<const AlignedBytes>>
      blocks_;  // guarded by mutex_
};

}  // namespace parallax
