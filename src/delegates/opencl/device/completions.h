// Waits for events of an in-order queue, one after the other, and calls back on its own thread:
// callbacks may block, read results and start further regions. The thread waits for events itself
// instead of asking for callbacks, for which drivers may poll: NVIDIA's came up to 18 ms late.
// Thread-safety: all functions may be called by any thread.
//
// ClContext has three: one per queue and one for calls that belong to neither, so that a long
// callback of one queue does not delay the others.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "delegates/opencl/device/cl_library.h"

namespace parallax::opencl {

/// Owns the thread that calls back.
class Completions {
 public:
  /// A callback; receives the error of its event. Must not throw. It may destroy the owner of this
  /// object. May call OpenCL, and take the lock of Commands: no lock is held during the call.
  using Call = std::function<void(Status)>;

  /// Starts the thread. `cl` must outlive it. Throws std::system_error.
  explicit Completions(const ClLibrary& cl);
  /// Makes all pending calls and joins the thread; the queue must have finished. If it runs on the
  /// object's own thread, it returns immediately, and the remaining calls follow.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Calls `call` after `event` and all earlier ones, with the error of `event`, if any. Errors:
  /// cl_error(); `call` is not called then. Retains the event. Events must be passed in the order
  /// in which their commands were enqueued. The error of a failed command is that of cl_error().
  Status when_done(cl_event event, Call call);

  /// Calls `call` with `status` after all earlier calls. Also waits for earlier events of this
  /// object.
  void later(Call call, Status status);

 private:
  struct Due {
    OwnedEvent event;  ///< empty: `status` is known
    Call call;
    Status status;
  };
  /// Shared with the thread, which may outlive this object.
  struct Calls {
    Mutex mutex;
    Condition changed;
    std::deque<Due> due PX_GUARDED_BY(mutex);
    bool ended PX_GUARDED_BY(mutex) = false;
    void add(Due one);
    void make_all(const ClLibrary& cl);
  };

  const ClLibrary& cl_;
  std::shared_ptr<Calls> calls_;
  std::thread thread_;
};

}  // namespace parallax::opencl
