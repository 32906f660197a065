#include "delegates/opencl/device/cl_context.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "delegates/opencl/device/program_cache.h"

namespace parallax::opencl {
namespace {

/// OpenCL C 1.2 on every device. Contractions into FMA stay allowed, other liberties do not: NaN
/// and infinities have to come out as the CPU's.
constexpr const char* kBuildOptions = "-cl-std=CL1.2";

std::string first_line(std::string text) {
  text.erase(0, text.find_first_not_of(" \n"));
  return text.substr(0, std::min(text.find('\n'), std::size_t{200}));
}

}  // namespace

Result<std::shared_ptr<ClContext>> ClContext::open(const ClDevice& device,
                                                   std::filesystem::path cache) {
  PX_ASSIGN(const ClLibrary* cl, cl_library());
  std::shared_ptr<ClContext> made(new ClContext(*cl, device));
  made->cache_ = std::move(cache);
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device.platform), 0};
  made->context_ =
      OwnedContext(*cl, cl->clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateContext", code));
  made->queue_ =
      OwnedQueue(*cl, cl->clCreateCommandQueue(made->context_.get(), device.id, 0, &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateCommandQueue", code));
  made->copies_ =
      OwnedQueue(*cl, cl->clCreateCommandQueue(made->context_.get(), device.id, 0, &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateCommandQueue", code));
  for (auto* line : {&made->of_queue_, &made->of_copies_, &made->of_none_})
    *line = std::make_unique<Completions>(*cl);
  return made;
}

ClContext::~ClContext() {
  if (queue_) cl_.clFinish(queue_.get());
  if (copies_) cl_.clFinish(copies_.get());
}

Result<OwnedBuffer> ClContext::buffer(std::int64_t bytes, const void* contents) {
  const bool copies = contents != nullptr && bytes > 0;
  return make_buffer(bytes, CL_MEM_READ_WRITE | (copies ? CL_MEM_COPY_HOST_PTR : cl_mem_flags{0}),
                     copies ? contents : nullptr);
}
Result<OwnedBuffer> ClContext::host_buffer(std::int64_t bytes) {
  return make_buffer(bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, nullptr);
}
Result<OwnedBuffer> ClContext::borrowed_buffer(std::span<const std::byte> bytes) {
  return make_buffer(static_cast<std::int64_t>(bytes.size()),
                     CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes.data());
}

Result<OwnedBuffer> ClContext::make_buffer(std::int64_t bytes, cl_mem_flags flags,
                                           const void* contents) {
  const std::int64_t size = std::max<std::int64_t>(bytes, 1);
  if (size > device_.max_buffer_bytes) {
    return tl::unexpected(
        Error{Stage::kRun,
              ErrorCode::kOutOfMemory,
              {},
              fmt::format("{} bytes are more than the {} that one buffer of {} holds", size,
                          device_.max_buffer_bytes, device_.name)});
  }
  cl_int code = CL_SUCCESS;
  OwnedBuffer made(cl_, cl_.clCreateBuffer(context_.get(), flags, static_cast<std::size_t>(size),
                                           const_cast<void*>(contents), &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateBuffer", code));
  return made;
}

Status ClContext::when_done(const Commands& commands, cl_command_queue queue, cl_event event,
                            Completions::Call call) {
  Completions& line = queue == commands.copies() ? *of_copies_ : *of_queue_;
  cl_.clFlush(queue);
  Status waiting = line.when_done(event, std::move(call));
  if (!waiting) cl_.clFinish(queue);
  return waiting;
}

Status ClContext::finish_build(cl_program program) {
  const cl_int code = cl_.clBuildProgram(program, 1, &device_.id, kBuildOptions, nullptr, nullptr);
  if (code == CL_SUCCESS) return {};
  std::size_t size = 0;
  cl_.clGetProgramBuildInfo(program, device_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size > 0)
    cl_.clGetProgramBuildInfo(program, device_.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  Error error = cl_error("clBuildProgram", code).value();
  error.stage = Stage::kCompile;
  error.message += ": " + first_line(std::move(log));
  return tl::unexpected(std::move(error));
}

Result<OwnedProgram> ClContext::built_from(const std::vector<std::byte>& binary) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  OwnedProgram made(cl_, cl_.clCreateProgramWithBinary(context_.get(), 1, &device_.id, &size,
                                                       &bytes, &status, &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateProgramWithBinary", code));
  PX_RETURN_IF_ERROR(finish_build(made.get()));
  return made;
}

Result<OwnedProgram> ClContext::build(const std::string& source) {
  std::filesystem::path file;
  if (!cache_.empty()) {
    file = program_file(cache_, device_.fingerprint(), kBuildOptions + source);
    if (const auto binary = read_program(file)) {
      if (auto made = built_from(*binary)) return made;
    }
  }
  const char* text = source.c_str();
  const std::size_t size = source.size();
  cl_int code = CL_SUCCESS;
  OwnedProgram made(cl_, cl_.clCreateProgramWithSource(context_.get(), 1, &text, &size, &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateProgramWithSource", code));
  PX_RETURN_IF_ERROR(finish_build(made.get()));
  std::size_t bytes = 0;
  if (!file.empty() &&
      cl_.clGetProgramInfo(made.get(), CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr) ==
          CL_SUCCESS &&
      bytes > 0) {
    std::vector<std::byte> binary(bytes);
    std::byte* to = binary.data();
    if (cl_.clGetProgramInfo(made.get(), CL_PROGRAM_BINARIES, sizeof(to), static_cast<void*>(&to),
                             nullptr) == CL_SUCCESS)
      write_program(file, binary);
  }
  return made;
}

Result<std::shared_ptr<ClProgram>> ClContext::program(const std::string& source) {
  const MutexLock lock(programs_mutex_);
  const auto found = programs_.find(source);
  if (found != programs_.end()) return found->second;
  auto made = std::make_shared<ClProgram>();
  PX_ASSIGN(made->program, build(source));
  programs_.emplace(source, made);
  return made;
}

}  // namespace parallax::opencl
