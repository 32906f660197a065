#include "delegates/opencl/device/completions.h"

#include <utility>

#include "base/status.h"

namespace parallax::opencl {
namespace {

/// Does not wait for an event that has happened: Oclgrind would run further commands here.
Status wait_for(const ClLibrary& cl, cl_event event) {
  const auto state_of = [&](cl_int otherwise) {
    cl_int state = otherwise;
    cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
    return state;
  };
  const cl_int before = state_of(CL_QUEUED);
  if (before == CL_COMPLETE) return {};
  if (before < 0) return cl_error("a kernel", before);
  const cl_int code = cl.clWaitForEvents(1, &event);
  if (code == CL_SUCCESS) return {};
  const cl_int after = state_of(CL_COMPLETE);
  return cl_error("a kernel", after < 0 ? after : code);
}

}  // namespace

void Completions::Calls::add(Due one) {
  const MutexLock lock(mutex);
  due.push_back(std::move(one));
  changed.notify_all();
}

void Completions::Calls::make_all(const ClLibrary& cl) {
  for (;;) {
    Due next;
    {
      const MutexLock lock(mutex);
      while (due.empty() && !ended) changed.wait(mutex);
      if (due.empty()) return;
      next = std::move(due.front());
      due.pop_front();
    }
    if (next.event) next.status = wait_for(cl, next.event.get());
    next.call(std::move(next.status));
  }
}

Completions::Completions(const ClLibrary& cl) : cl_(cl), calls_(std::make_shared<Calls>()) {
  thread_ = std::thread([&cl, calls = calls_] { calls->make_all(cl); });
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

void Completions::later(Call call, Status status) {
  calls_->add({{}, std::move(call), std::move(status)});
}

Status Completions::when_done(cl_event event, Call call) {
  PX_RETURN_IF_ERROR(cl_check("clRetainEvent", cl_.clRetainEvent(event)));
  calls_->add({OwnedEvent(cl_, event), std::move(call), {}});
  return {};
}

}  // namespace parallax::opencl
