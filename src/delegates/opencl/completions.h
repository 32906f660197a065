// Waits for events of an in-order queue, one after the other, and calls their callers back, on a
// thread of its own: what is called may block, read results and begin further regions. The thread
// waits for events itself instead of asking for callbacks, for which drivers may poll: NVIDIA's
// came up to 20 ms late. Thread-safety: all functions may be called by any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "delegates/opencl/cl_library.h"

namespace parallax::opencl {

class Completions {
 public:
  using Call = std::function<void(Status)>;

  explicit Completions(const ClLibrary& cl);
  /// Waits for all calls, so the queue must have finished. On the object's own thread it returns
  /// immediately, and the remaining calls follow.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Calls `call` once `event` and those given before have happened, with the error that `event`
  /// ended with. Errors: cl_error(); then `call` is not called.
  Status when_done(cl_event event, Call call);

  /// Calls `call` with `status` once all that was given before has been called.
  void later(Call call, Status status);

 private:
  struct Due {
    OwnedEvent event;  ///< empty: `status` is known
    Call call;
    Status status;
  };
  /// Shared with the thread, which may outlive this.
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
