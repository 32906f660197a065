#include "delegates/opencl/device/device_memory.h"

#include <cstring>

#include "base/status.h"

namespace parallax::opencl {

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::allocate(std::shared_ptr<ClContext> context,
                                                             std::int64_t bytes) {
  std::unique_ptr<DeviceMemory> made(new DeviceMemory(std::move(context)));
  made->bytes_ = bytes;
  ClContext& its = *made->context_;
  const bool shared = its.device().shares_memory;
  PX_ASSIGN(made->buffer_, shared ? its.host_buffer(bytes) : its.buffer(bytes));
  if (!shared) return made;
  std::byte* where = nullptr;
  {
    const ClContext::Commands commands(its);
    PX_RETURN_IF_ERROR(made->map(commands, where));
    PX_RETURN_IF_ERROR(cl_check("clFinish", its.cl().clFinish(commands.queue())));
  }
  made->host_ = where;
  return made;
}

DeviceMemory::~DeviceMemory() {
  if (host_ == nullptr) return;
  const ClLibrary& cl = context_->cl();
  OwnedEvent unmapped;
  {
    const ClContext::Commands commands(*context_);
    cl_event event = nullptr;
    if (cl.clEnqueueUnmapMemObject(commands.queue(), buffer(), host_, 0, nullptr, &event) !=
        CL_SUCCESS)
      return;
    unmapped = OwnedEvent(cl, event);
    cl.clFlush(commands.queue());
  }
  const cl_event event = unmapped.get();
  cl.clWaitForEvents(1, &event);
}

Status DeviceMemory::map(const ClContext::Commands& commands, std::byte*& where) {
  cl_int code = CL_SUCCESS;
  where = static_cast<std::byte*>(context_->cl().clEnqueueMapBuffer(
      commands.queue(), buffer(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
      static_cast<std::size_t>(bytes_), 0, nullptr, nullptr, &code));
  return cl_check("clEnqueueMapBuffer", code);
}

Status DeviceMemory::begin_use(const ClContext::Commands& commands) {
  if (host_ == nullptr || users_++ > 0) return {};
  const cl_int code = context_->cl().clEnqueueUnmapMemObject(commands.queue(), buffer(), host_, 0,
                                                             nullptr, nullptr);
  if (code != CL_SUCCESS) --users_;
  return cl_check("clEnqueueUnmapMemObject", code);
}

Status DeviceMemory::end_use(const ClContext::Commands& commands) {
  if (host_ == nullptr || --users_ > 0) return {};
  std::byte* where = nullptr;
  PX_RETURN_IF_ERROR(map(commands, where));
  if (where == host_) return {};
  return tl::unexpected(
      Error{Stage::kRun, ErrorCode::kInternal, {}, "the driver has moved mapped memory"});
}

/// Returns null if pinned memory is not available: drivers then copy directly.
std::byte* DeviceMemory::staging() {
  const MutexLock lock(mutex_);
  if (staged_ == nullptr) {
    std::unique_ptr<DeviceMemory> made(new DeviceMemory(context_));
    made->bytes_ = bytes_;
    auto pinned = context_->host_buffer(bytes_);
    if (!pinned) return nullptr;
    made->buffer_ = std::move(*pinned);
    const ClContext::Commands commands(*context_);
    std::byte* where = nullptr;
    if (!made->map(commands, where)) return nullptr;
    if (context_->cl().clFinish(commands.queue()) != CL_SUCCESS) return nullptr;
    made->host_ = where;
    staged_ = std::move(made);
  }
  return staged_->host_;
}

Status DeviceMemory::write(std::size_t offset, const void* from, std::size_t bytes,
                           Completions::Call done) {
  if (host_ != nullptr) {
    std::memcpy(host_ + offset, from, bytes);
    done({});
    return {};
  }
  std::byte* const pinned = staging();
  if (pinned != nullptr) std::memcpy(pinned + offset, from, bytes);
  const ClLibrary& cl = context_->cl();
  const ClContext::Commands commands(*context_);
  cl_event event = nullptr;
  PX_RETURN_IF_ERROR(cl_check(
      "clEnqueueWriteBuffer",
      cl.clEnqueueWriteBuffer(commands.copies(), buffer(), CL_FALSE, offset, bytes,
                              pinned != nullptr ? pinned + offset : from, 0, nullptr, &event)));
  const OwnedEvent end(cl, event);
  return context_->when_done(commands, commands.copies(), event, std::move(done));
}

Status DeviceMemory::read(std::size_t offset, void* to, std::size_t bytes, Completions::Call done) {
  if (host_ != nullptr) {
    std::memcpy(to, host_ + offset, bytes);
    done({});
    return {};
  }
  std::byte* const pinned = staging();
  const ClLibrary& cl = context_->cl();
  const ClContext::Commands commands(*context_);
  cl_event event = nullptr;
  PX_RETURN_IF_ERROR(cl_check(
      "clEnqueueReadBuffer",
      cl.clEnqueueReadBuffer(commands.copies(), buffer(), CL_FALSE, offset, bytes,
                             pinned != nullptr ? pinned + offset : to, 0, nullptr, &event)));
  const OwnedEvent end(cl, event);
  if (pinned == nullptr)
    return context_->when_done(commands, commands.copies(), event, std::move(done));
  return context_->when_done(
      commands, commands.copies(), event,
      [from = pinned + offset, to, bytes, done = std::move(done)](Status status) {
        if (status) std::memcpy(to, from, bytes);
        done(std::move(status));
      });
}

}  // namespace parallax::opencl
