// One device ready for work: context, in-order queue, programs, and the threads that tell of ends.
// Regions of a device share one. Thread-safety: all functions may be called by any thread; commands
// are given under the lock of Commands.
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
#include "delegates/opencl/cl_device.h"
#include "delegates/opencl/completions.h"

namespace parallax::opencl {

/// A built program.
struct ClProgram {
  OwnedProgram program;
  /// Whether nobody has asked this of the kernel before: drivers finish each once.
  bool to_warm(const std::string& kernel) {
    const MutexLock lock(mutex_);
    return warm_.insert(kernel).second;
  }

 private:
  Mutex mutex_;
  std::set<std::string> warm_ PX_GUARDED_BY(mutex_);
};

class ClContext {
 public:
  /// `cache`: a folder for compiled programs; empty: none. Errors: cl_error().
  static Result<std::shared_ptr<ClContext>> open(const ClDevice& device,
                                                 std::filesystem::path cache = {});
  ClContext(const ClContext&) = delete;
  ClContext& operator=(const ClContext&) = delete;
  /// Waits for the device.
  ~ClContext();

  const ClLibrary& cl() const { return cl_; }
  const ClDevice& device() const { return device_; }
  /// Memory of the device, at least one byte; `contents`, if not null, is copied there before this
  /// returns. Errors: kOutOfMemory.
  Result<OwnedBuffer> buffer(std::int64_t bytes, const void* contents = nullptr);
  /// The host's memory, which kernels only read, and which must outlive the buffer.
  /// Errors: kOutOfMemory, kInternal.
  Result<OwnedBuffer> borrowed_buffer(std::span<const std::byte> bytes);
  /// Memory that the host may map: the device's and the host's at once where they share it, pinned
  /// elsewhere. Errors: kOutOfMemory.
  Result<OwnedBuffer> host_buffer(std::int64_t bytes);

  /// The program of that source, built once: from the cache folder, or by the driver, which takes
  /// the better part of a second. Blocks. Errors: kInternal with the driver's first line.
  Result<std::shared_ptr<ClProgram>> program(const std::string& source);

  /// The right to give commands: they run in the order in which they are given.
  class PX_THREAD_ATTRIBUTE(scoped_lockable) Commands {
   public:
    explicit Commands(ClContext& context) PX_ACQUIRE(context.mutex_) : context_(context) {
      context_.mutex_.lock();
    }
    ~Commands() PX_RELEASE() { context_.mutex_.unlock(); }
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;
    cl_command_queue queue() const { return context_.queue_.get(); }
    /// For copies of which no kernel that is under way reads or writes anything.
    cl_command_queue copies() const { return context_.copies_.get(); }

   private:
    ClContext& context_;
  };

  /// Hands the queue's commands to the device, and calls `call` on a thread of that queue once
  /// `event` has happened, with the error that it ended with. If this fails, all commands have
  /// ended and `call` is not called.
  Status when_done(const Commands& commands, cl_command_queue queue, cl_event event,
                   Completions::Call call);
  /// Calls `call` on another thread, without waiting for a queue.
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
  std::unique_ptr<Completions> of_queue_, of_copies_, of_none_;  ///< of neither queue
};

}  // namespace parallax::opencl
