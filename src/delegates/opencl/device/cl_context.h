// A device that is ready for work: context, in-order queues, programs, and the threads that report
// completions. The regions of a device share one. Thread-safety: all functions may be called by any
// thread; commands are enqueued while holding Commands.
//
// Order of locks: programs, then commands. A region, its bindings and all device memory share
// ownership, so the device closes when the last of them is destroyed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "delegates/opencl/device/cl_device.h"
#include "delegates/opencl/device/completions.h"

namespace parallax::opencl {

/// A built program.
struct ClProgram {
  OwnedProgram program;
  /// Returns true once for each kernel name: the caller then runs the kernel once to finish it,
  /// because drivers complete the compilation at the first launch.
  bool to_warm(const std::string& kernel) {
    const MutexLock lock(mutex_);
    return warm_.insert(kernel).second;
  }

 private:
  Mutex mutex_;
  std::set<std::string> warm_ PX_GUARDED_BY(mutex_);
};

/// Create it with open(). Objects that use it share its ownership.
class ClContext {
 public:
  /// Opens the device. `cache`: a folder for compiled programs; empty: no cache. Errors: those of
  /// cl_error(). Creates two in-order queues and three threads. Throws std::system_error if a
  /// thread cannot be started.
  static Result<std::shared_ptr<ClContext>> open(const ClDevice& device,
                                                 std::filesystem::path cache = {});
  ClContext(const ClContext&) = delete;
  ClContext& operator=(const ClContext&) = delete;
  /// Waits for all commands to complete. Then makes all pending calls. Callbacks may hold the last
  /// owner, so it may run on a thread of Completions.
  ~ClContext();

  /// Return what it was opened with; valid while it lives.
  const ClLibrary& cl() const { return cl_; }
  const ClDevice& device() const { return device_; }
  /// Allocates memory of the device, at least one byte; `contents`, if not null, is copied there
  /// before this returns. Errors: kOutOfMemory. Also kInternal, from the driver; kOutOfMemory also
  /// for more than ClDevice::max_buffer_bytes. Without `contents` the bytes are unspecified. Needs
  /// no lock.
  Result<OwnedBuffer> buffer(std::int64_t bytes, const void* contents = nullptr);
  /// Wraps memory of the host, which kernels only read and which must outlive the buffer. Errors:
  /// kOutOfMemory, kInternal. The driver may reject addresses or sizes that are not multiples of
  /// its pages and lines.
  Result<OwnedBuffer> borrowed_buffer(std::span<const std::byte> bytes);
  /// Allocates memory that the host may map: shared by host and device if they share memory, pinned
  /// otherwise. Errors: kOutOfMemory.
  Result<OwnedBuffer> host_buffer(std::int64_t bytes);

  /// Returns the program for `source`, built once: loaded from the cache folder, or built by the
  /// driver, which needs up to a second. Blocks meanwhile. Errors: kInternal with the first line of
  /// the driver's message. Programs stay in memory as long as this. Other threads that want a
  /// program wait meanwhile, whichever it is. Failures are not remembered. kOutOfMemory if the
  /// driver reports it; stage kCompile for failed builds.
  Result<std::shared_ptr<ClProgram>> program(const std::string& source);

  /// The right to enqueue commands, held while it lives: commands run in the order in which they
  /// are enqueued. One mutex for both queues.
  class PX_THREAD_ATTRIBUTE(scoped_lockable) Commands {
   public:
    explicit Commands(ClContext& context) PX_ACQUIRE(context.mutex_) : context_(context) {
      context_.mutex_.lock();
    }
    ~Commands() PX_RELEASE() { context_.mutex_.unlock(); }
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;
    /// Returns the queue for kernels.
    cl_command_queue queue() const { return context_.queue_.get(); }
    /// Returns the queue for copies that touch no memory of kernels in progress.
    cl_command_queue copies() const { return context_.copies_.get(); }

   private:
    ClContext& context_;
  };

  /// Flushes the queue, and calls `call` on the thread of that queue after `event`, with the error
  /// of the event, if any. On failure all commands have completed, and `call` is not called.
  /// `queue` is one of the two of `commands`. Calls of one queue come in the order of its events.
  Status when_done(const Commands& commands, cl_command_queue queue, cl_event event,
                   Completions::Call call);
  /// Calls `call` with `status` on another thread, without waiting for a queue. Calls are made in
  /// the order of later().
  void later(Completions::Call call, Status status) {
    of_none_->later(std::move(call), std::move(status));
  }

 private:
  explicit ClContext(const ClLibrary& cl, const ClDevice& device) : cl_(cl), device_(device) {}
  Result<OwnedProgram> build(const std::string& source);
  Result<OwnedProgram> built_from(const std::vector<std::byte>& binary);
  Status finish_build(cl_program program);
  Result<OwnedBuffer> make_buffer(std::int64_t bytes, cl_mem_flags flags, const void* contents);

  const ClLibrary& cl_;
  const ClDevice device_;
  std::filesystem::path cache_;
  OwnedContext context_;
  OwnedQueue queue_, copies_;
  Mutex programs_mutex_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kBuilding};
  Mutex mutex_{LockOrder::kCommands};
  std::map<std::string, std::shared_ptr<ClProgram>> programs_ PX_GUARDED_BY(programs_mutex_);
  /// One for each queue, and one for calls that belong to neither.
  std::unique_ptr<Completions> of_queue_, of_copies_, of_none_;
};

}  // namespace parallax::opencl
