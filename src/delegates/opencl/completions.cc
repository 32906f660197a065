#include "delegates/opencl/completions.h"

#include <utility>

namespace parallax::opencl {

struct Completions::Waiting {
  std::shared_ptr<Calls> calls;
  Call call;
};

void Completions::Calls::add(Due one) {
  const MutexLock lock(mutex);
  due.push_back(std::move(one));
  changed.notify_all();
}

void Completions::Calls::make_all() {
  for (;;) {
    Due next;
    {
      const MutexLock lock(mutex);
      while (due.empty() && !ended) changed.wait(mutex);
      if (due.empty()) return;
      next = std::move(due.front());
      due.pop_front();
    }
    next.call(std::move(next.status));
  }
}

Completions::Completions() : calls_(std::make_shared<Calls>()) {
  thread_ = std::thread([calls = calls_] { calls->make_all(); });
}

Completions::~Completions() {
  {
    const MutexLock lock(calls_->mutex);
    calls_->ended = true;
    calls_->changed.notify_all();
  }
  // A call may hold the last owner of this.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void CL_CALLBACK Completions::happened(cl_event, cl_int state, void* waiting) {
  const std::unique_ptr<Waiting> ended(static_cast<Waiting*>(waiting));
  Status status;
  if (state < 0) status = cl_error("a kernel", state);
  ended->calls->add({std::move(ended->call), std::move(status)});
}

void Completions::later(Call call, Status status) {
  calls_->add({std::move(call), std::move(status)});
}

Status Completions::when_done(const ClLibrary& cl, cl_event event, Call call) {
  auto waiting = std::make_unique<Waiting>(Waiting{calls_, std::move(call)});
  const cl_int code = cl.clSetEventCallback(event, CL_COMPLETE, &happened, waiting.get());
  if (code != CL_SUCCESS) return cl_error("clSetEventCallback", code);
  (void)waiting.release();
  return {};
}

}  // namespace parallax::opencl
