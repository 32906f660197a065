#include "delegates/cores/cores_queue.h"

#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "run/execute.h"

namespace parallax {

CoresQueue::CoresQueue(int threads) : pool_(threads), thread_([this] { work(); }) {}

CoresQueue::~CoresQueue() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  waiting_.fetch_add(1);
  thread_.join();
}

void CoresQueue::add(CoresJob job) {
  {
    const MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  // A thread that is awake must find the mutex free: waiting for it would be as slow as sleeping.
  waiting_.fetch_add(1);
}

void CoresQueue::cancel(void* context) {
  std::stop_source stop(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    if (running_ == context) stop = stop_;
    for (const CoresJob& job : jobs_)
      if (job.context == context) stop = job.stop;
  }
  (void)stop.request_stop();  // without the mutex, because it calls stop callbacks
}

/// Waits for the next job. Returns false if there will be no more.
bool CoresQueue::wait_for_job(CoresJob& job) {
  const auto since = std::chrono::steady_clock::now();
  patience_.wait([this] { return waiting_.load() > 0; });
  const MutexLock lock(mutex_);
  while (jobs_.empty() && !ends_) changed_.wait(mutex_);
  if (jobs_.empty()) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  running_ = job.context;
  stop_ = job.stop;
  waiting_.fetch_sub(1);
  patience_.waited(std::chrono::steady_clock::now() - since);
  return true;
}

void CoresQueue::work() {
  for (CoresJob job; wait_for_job(job); job = {}) {
    Status status;
    try {
      status = run(job);
    } catch (...) {
      status = tl::unexpected(caught(Stage::kRun));
    }
    {
      const MutexLock lock(mutex_);
      running_ = nullptr;
    }
    // The host may hand the program's region back as soon as it knows.
    job.program.reset();
    const px_code code =
        status ? px_code{PX_OK} : static_cast<px_code>(status.error().code) + PX_INVALID_MODEL;
    job.done(job.context, code, status ? nullptr : status.error().message.c_str());
  }
}

Status CoresQueue::run(const CoresJob& job) {
  const PlaceOutput place = [&](int output, DType, const Dims&) -> Result<std::byte*> {
    return job.outputs[static_cast<std::size_t>(output)];
  };
  PX_ASSIGN(RunMemory::Lease lease, memory_.acquire({job.program->bytes, std::nullopt}));
  ExecuteOptions options;
  options.deadline.stop = job.stop.get_token();
  return execute(*job.program, job.inputs, place, pool_, lease, options);
}

}  // namespace parallax
