// Memory for tensors that the host writes and reads. Where the device computes in the host's
// memory, both see the same bytes; elsewhere copies go through pinned memory, which the device
// fetches by itself, on a queue of their own, so that they overlap with the kernels of other runs.
// Thread-safety: all functions may be called by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "delegates/opencl/cl_context.h"

namespace parallax::opencl {

class DeviceMemory {
 public:
  /// `bytes` > 0. Errors: kOutOfMemory.
  static Result<std::unique_ptr<DeviceMemory>> allocate(std::shared_ptr<ClContext> context,
                                                        std::int64_t bytes);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  /// REQUIRES: nothing uses it. Waits for commands that were given before.
  ~DeviceMemory();

  cl_mem buffer() const { return buffer_.get(); }
  /// Where the host sees the bytes while nobody uses them; null where it does not.
  std::byte* host() const { return host_; }
  /// That the first copy takes of the host's memory: as much, pinned, where this is not mapped.
  std::int64_t staging_bytes() const { return host_ == nullptr ? bytes_ : 0; }

  /// The commands that are given from now on, until end_use, use it: the host does not. Calls of
  /// several users nest.
  Status begin_use(const ClContext::Commands& commands);
  /// Errors: kInternal, too, where the driver has moved what the host sees.
  Status end_use(const ClContext::Commands& commands);

  /// Begins a copy and returns; `done` is called once, maybe before. Where this fails, it is not
  /// called. `from` and `to` stay until then. REQUIRES: the bytes lie inside.
  Status write(std::size_t offset, const void* from, std::size_t bytes, Completions::Call done);
  Status read(std::size_t offset, void* to, std::size_t bytes, Completions::Call done);

 private:
  explicit DeviceMemory(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}
  Status map(const ClContext::Commands& commands, std::byte*& where);
  std::byte* staging();

  const std::shared_ptr<ClContext> context_;
  std::int64_t bytes_ = 0;
  OwnedBuffer buffer_;
  std::byte* host_ = nullptr;
  int users_ = 0;  ///< under the lock of Commands
  Mutex mutex_{LockOrder::kStaging};
  std::unique_ptr<DeviceMemory> staged_ PX_GUARDED_BY(mutex_);  ///< as large, pinned
};

}  // namespace parallax::opencl
