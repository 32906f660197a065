// Calls what waits for a device, on a thread of its own: a driver's callback must not block, and
// what is called here may read results and begin further regions. Thread-safety: all functions may
// be called by any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "delegates/opencl/cl_library.h"

namespace parallax::opencl {

class Completions {
 public:
  using Call = std::function<void(Status)>;

  Completions();
  /// Waits for the calls that are due. Those of events that have not happened are made later, by
  /// nobody: the caller has waited for its queue.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Calls `call` once `event` has happened, with the error that it ended with. Where this fails,
  /// `call` is not called.
  Status when_done(const ClLibrary& cl, cl_event event, Call call);

  /// Calls `call` with `status`, on the same thread.
  void later(Call call, Status status);

 private:
  struct Due {
    Call call;
    Status status;
  };
  /// Shared with callbacks of drivers, which may come late.
  struct Calls {
    Mutex mutex;
    Condition changed;
    std::deque<Due> due PX_GUARDED_BY(mutex);
    bool ended PX_GUARDED_BY(mutex) = false;
    void add(Due one);
    void make_all();
  };
  struct Waiting;
  static void CL_CALLBACK happened(cl_event event, cl_int state, void* waiting);

  std::shared_ptr<Calls> calls_;
  std::thread thread_;
};

}  // namespace parallax::opencl
