// Memory for tensors that the host writes and reads. If the device computes in host memory, both
// access the same bytes; otherwise copies go through pinned memory, which the device reads itself,
// on a separate queue, so that they overlap with kernels of other runs. Thread-safety: all
// functions may be called by any thread.
//
// The delegate's functions allocate, release, write and read use it: it holds values that pass
// between regions and the CPU. Sizes and offsets are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "delegates/opencl/device/cl_context.h"

namespace parallax::opencl {

/// One buffer of the device.
class DeviceMemory {
 public:
  /// Allocates `bytes` > 0 bytes. Errors: kOutOfMemory. On a device that shares memory, maps the
  /// bytes and waits until they are mapped. Also kInternal, from the driver.
  static Result<std::unique_ptr<DeviceMemory>> allocate(std::shared_ptr<ClContext> context,
                                                        std::int64_t bytes);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  /// Waits for commands that were enqueued before, if the host can access the bytes. REQUIRES: it
  /// is not in use.
  ~DeviceMemory();

  /// Returns the buffer, which lives as long as this.
  cl_mem buffer() const { return buffer_.get(); }
  /// Returns the address at which the host may access the bytes while no command uses them; null if
  /// it cannot. The address stays the same for the object's lifetime.
  std::byte* host() const { return host_; }
  /// Returns the bytes of pinned host memory that the first copy allocates: the buffer's size, or 0
  /// if the host can access it.
  std::int64_t staging_bytes() const { return host_ == nullptr ? bytes_ : 0; }

  /// Marks it as used by commands that are enqueued until end_use(): the host must not access it.
  /// Calls of several users nest. The caller holds Commands. On failure the use does not count.
  Status begin_use(const ClContext::Commands& commands);
  /// Errors: those of OpenCL; kInternal if the driver moved the bytes that the host accesses. Only
  /// the last of nested calls makes the bytes accessible again, once the commands before it have
  /// completed.
  Status end_use(const ClContext::Commands& commands);

  /// Start a copy and return; `done` is called once, possibly before that. On failure it is not
  /// called. The host's memory must live until then. REQUIRES: the range is inside the buffer.
  /// `done` comes from the calling thread if the host can access the bytes, else from the thread of
  /// the copy queue. Copies are not ordered with respect to kernels: no command in progress may use
  /// the range.
  Status write(std::size_t offset, const void* from, std::size_t bytes, Completions::Call done);
  Status read(std::size_t offset, void* to, std::size_t bytes, Completions::Call done);

 private:
  explicit DeviceMemory(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}
  /// Maps the buffer for the host at `where`.
  Status map(const ClContext::Commands& commands, std::byte*& where);
  /// Returns pinned memory for copies, allocated by the first call; null without memory. Blocks
  /// while it is mapped. Without it, copies use the caller's memory directly.
  std::byte* staging();

  const std::shared_ptr<ClContext> context_;
  std::int64_t bytes_ = 0;
  OwnedBuffer buffer_;
  std::byte* host_ = nullptr;
  int users_ = 0;  ///< under the lock of Commands
  Mutex mutex_{LockOrder::kStaging};
  std::unique_ptr<DeviceMemory> staged_ PX_GUARDED_BY(mutex_);  ///< pinned memory of the same size
};

}  // namespace parallax::opencl
