#include "delegates/opencl/opencl_delegate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/c_types.h"
#include "base/caught.h"
#include "base/status.h"
#include "delegates/opencl/device/device_memory.h"
#include "delegates/opencl/operators.h"
#include "delegates/opencl/region.h"
#include "delegates/opencl/tuner.h"
#include "ir/region_reader.h"

namespace parallax::opencl {
namespace {

/// The device that open returns.
struct OpenDevice {
  std::shared_ptr<ClContext> context;
  std::string device, driver, profile;
  bool half = false;            ///< the user asked for 16-bit storage
  std::filesystem::path cache;  ///< empty: no cache
  std::function<void(const std::string&)> log;
  Mutex mutex{LockOrder::kTuning};
  std::optional<Tuning> tuning PX_GUARDED_BY(mutex);

  /// Sizes of kernels for a graph: measured when the first product is compiled, if the result can
  /// be kept for other processes.
  Tuning tuning_for(const Graph& graph) {
    const bool products = std::ranges::any_of(graph.nodes, [](const Node& node) {
      return node.op == OpKind::kConv || node.op == OpKind::kMatMul || node.op == OpKind::kGemm;
    });
    if (!products || cache.empty()) return {};
    const MutexLock lock(mutex);
    if (!tuning) tuning = kept_tuning(context, cache, log);
    return *tuning;
  }
};
/// Says when a region is gone: until then it may read constants in the host's memory.
struct OwnedRegion {
  std::shared_ptr<const Region> region;
  std::promise<void> gone;
  explicit OwnedRegion(std::shared_ptr<const Region> made) : region(std::move(made)) {}
  OwnedRegion(const OwnedRegion&) = delete;
  OwnedRegion& operator=(const OwnedRegion&) = delete;
  ~OwnedRegion() {
    region.reset();
    gone.set_value();
  }
};

/// The handle that compile returns.
class RegionHandle {
 public:
  explicit RegionHandle(std::shared_ptr<const Region> made) {
    const auto owned = std::make_shared<OwnedRegion>(std::move(made));
    gone_ = owned->gone.get_future();
    region_ = {owned, owned->region.get()};
  }
  RegionHandle(const RegionHandle&) = delete;
  RegionHandle& operator=(const RegionHandle&) = delete;
  /// Waits for a call of run() that has not returned, though its run was answered.
  ~RegionHandle() {
    region_.reset();
    gone_.wait();
  }
  const std::shared_ptr<const Region>& region() const { return region_; }

 private:
  std::shared_ptr<const Region> region_;
  std::future<void> gone_;
};
struct BindingHandle {
  std::shared_ptr<Binding> binding;
};
/// Writes the fields of a status that the host's struct has.
px_code report(px_status* to, const Status& status) {
  px_status made = to_c(status);
  if (to == nullptr || to->size < sizeof(px_status)) {
    if (made.release != nullptr) made.release(made.owner);
    if (to != nullptr && to->size >= offsetof(px_status, node)) to->code = made.code;
    return made.code;
  }
  made.size = to->size;
  *to = made;
  return made.code;
}

/// Runs the body of a function of the table: no exception leaves it.
template <class Function>
px_code answer(px_status* status, Function function) noexcept {
  try {
    return report(status, function());
  } catch (...) {
    return report(status, tl::unexpected(caught(Stage::kRun)));
  }
}

/// The text after the colon: "f16", a device, or both as "f16,DEVICE".
struct OpenText {
  bool half = false;
  std::string_view device;
};
OpenText parse_open_text(std::string_view text) {
  if (text == "f16") return {true, {}};
  if (text.starts_with("f16,")) return {true, text.substr(4)};
  return {false, text};
}

tl::unexpected<Error> open_error(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
}

/// Returns the device with that number, or whose name contains the text.
Result<ClDevice> chosen(const std::vector<ClDevice>& devices, std::string_view text) {
  if (devices.empty())
    return open_error(ErrorCode::kUnsupported, "no OpenCL device with a compiler is installed");
  if (text.empty()) return devices.front();
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size() && number < devices.size())
    return devices[number];
  const auto named = std::ranges::find_if(
      devices, [&](const ClDevice& d) { return d.name.find(text) != std::string::npos; });
  if (named != devices.end()) return *named;
  return open_error(ErrorCode::kInvalidInput, fmt::format("no OpenCL device '{}'", text));
}

/// Kernels have work-groups of this many items.
constexpr std::size_t kLargestGroup = 256;

/// Assumptions until the host measures: the launch overhead of drivers, and the rate of each
/// compute unit with these kernels.
StatedRates stated_rates(const ClDevice& device) {
  const double units = std::max(1, device.compute_units);
  StatedRates rates{};
  rates.launch_seconds = device.is_cpu ? 3e-4 : 5e-5;
  rates.macs_per_second = units * (device.is_cpu ? 5e9 : 2e10);
  rates.bytes_per_second = device.is_cpu || device.shares_memory ? 1e10 : 6e9;
  rates.cpu_macs_per_second = 2e10;
  rates.memory_bytes = device.memory_bytes;
  return rates;
}

px_code open(const px_open_options* options, void** device, px_status* status) {
  return answer(status, [&]() -> Status {
    PX_ASSIGN(const px_open_options given, of_this_version(options));
    PX_ASSIGN(const std::vector<ClDevice> devices, find_devices());
    const OpenText text = parse_open_text(given.text == nullptr ? "" : given.text);
    PX_ASSIGN(const ClDevice found, chosen(devices, text.device));
    if (found.max_group < kLargestGroup)
      return open_error(ErrorCode::kUnsupported,
                        fmt::format("{} has work-groups of {} items, not {}", found.name,
                                    found.max_group, kLargestGroup));
    auto made = std::make_unique<OpenDevice>();
    PX_ASSIGN(made->context,
              ClContext::open(found, given.cache_folder == nullptr ? "" : given.cache_folder));
    made->half = text.half;
    if (given.cache_folder != nullptr) made->cache = given.cache_folder;
    made->log = [log = given.log, to = given.log_context](const std::string& line) {
      if (log != nullptr) log(to, 0, line.c_str());
    };
    made->device = found.name + (text.half ? " (floats stored in 16 bits)" : "");
    made->driver = found.version + ", driver " + found.driver;
    made->profile = profile_text(stated_rates(found));
    *device = made.release();
    return {};
  });
}

void close(void* device) { delete static_cast<OpenDevice*>(device); }

OpenDevice& of(void* device) { return *static_cast<OpenDevice*>(device); }

/// Copies the fields that the host's struct has; its size stays.
template <class Struct>
void fill(Struct* to, Struct made) {
  made.size = to->size;
  std::memcpy(to, &made, std::min(to->size, sizeof(Struct)));
}

px_code describe(void* device, px_description* description, px_status*) {
  const OpenDevice& open_device = of(device);
  fill(description, px_description{0, open_device.device.c_str(), open_device.driver.c_str(),
                                   open_device.profile.c_str(), PX_MEMORY_DEVICE,
                                   open_device.half ? PX_FLOAT16 : PX_FLOAT32,
                                   open_device.context->device().in_host_memory() ? 1 : 0});
  return PX_OK;
}

px_code compile(void* device, const px_region* region, px_compiled* compiled, px_status* status) {
  return answer(status, [&]() -> Status {
    PX_ASSIGN(Graph graph, read_region(region));
    PX_ASSIGN(const px_region given, of_this_version(region));
    RegionOptions options;
    options.half = of(device).half || given.storage == PX_FLOAT16;
    options.tuning = of(device).tuning_for(graph);
    PX_ASSIGN(auto compiled_region, Region::compile(of(device).context, std::move(graph), options));
    auto made = std::make_unique<RegionHandle>(std::move(compiled_region));
    const std::int64_t bytes = made->region()->memory_bytes();
    fill(compiled, px_compiled{0, made.release(), bytes});
    return {};
  });
}

px_code bind(void*, void* region, const px_sizes* sizes, px_binding* binding, px_status* status) {
  return answer(status, [&]() -> Status {
    const auto& from = static_cast<RegionHandle*>(region)->region();
    PX_ASSIGN(const std::vector<Constant> tensors,
              read_sizes(from->graph(), from->value_count(), sizes));
    std::vector<TensorDesc> values;
    for (const Constant& tensor : tensors)
      values.push_back({true, tensor.dtype, tensor.dims, tensor.bytes.data()});
    auto made = std::make_unique<BindingHandle>();
    PX_ASSIGN(made->binding, Region::bind(from, values));
    const std::int64_t bytes = made->binding->memory_bytes();
    fill(binding, px_binding{0, made.release(), bytes, 0});
    return {};
  });
}

/// Wraps the host's callback as one for OpenCL.
Completions::Call answering(px_done done, void* done_context) {
  return [done, done_context](const Status& ended) {
    if (ended) {
      done(done_context, PX_OK, nullptr);
    } else {
      const std::string text = ended.error().to_string();
      done(done_context, static_cast<px_code>(ended.error().code) + 1, text.c_str());
    }
  };
}

Result<std::vector<BufferPart>> parts_of(std::size_t count, const px_place* const* places,
                                         std::size_t expected) {
  if (count != expected)
    return open_error(ErrorCode::kInvalidInput,
                      fmt::format("{} tensors where a region has {}", count, expected));
  std::vector<BufferPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    PX_ASSIGN(const px_place place, of_this_version(places[i]));
    BufferPart part;
    if (auto* memory = static_cast<DeviceMemory*>(place.memory))
      part = {memory->buffer(), static_cast<std::int64_t>(place.offset), memory};
    if (part.buffer == nullptr && place.bytes > 0)
      return open_error(ErrorCode::kInvalidInput, "a tensor without memory");
    parts.push_back(part);
  }
  return parts;
}

px_code run(void*, void* binding, const px_run* run, px_done done, void* done_context,
            px_status* status) {
  return answer(status, [&]() -> Status {
    PX_ASSIGN(const px_run given, of_this_version(run));
    Binding& bound = *static_cast<BindingHandle*>(binding)->binding;
    PX_ASSIGN(const auto inputs, parts_of(given.input_count, given.inputs, bound.input_count()));
    PX_ASSIGN(const auto outputs,
              parts_of(given.output_count, given.outputs, bound.output_count()));
    bound.run(inputs, outputs, answering(done, done_context), done_context);
    return {};
  });
}

void cancel(void*, void* binding, void* done_context) {
  (void)answer(nullptr, [&]() -> Status {
    static_cast<BindingHandle*>(binding)->binding->cancel(done_context);
    return {};
  });
}

void unbind(void*, void*, void* binding) { delete static_cast<BindingHandle*>(binding); }
void discard(void*, void* region) { delete static_cast<RegionHandle*>(region); }

px_code allocate(void* device, std::size_t bytes, px_memory* memory, px_status* status) {
  return answer(status, [&]() -> Status {
    if (bytes > static_cast<std::size_t>(of(device).context->device().max_buffer_bytes))
      return open_error(ErrorCode::kOutOfMemory, "more than one buffer of the device holds");
    PX_ASSIGN(auto made,
              DeviceMemory::allocate(of(device).context, static_cast<std::int64_t>(bytes)));
    std::byte* const host = made->host();
    const std::int64_t staging = made->staging_bytes();
    fill(memory, px_memory{0, made.release(), host, staging});
    return {};
  });
}
void release(void*, void* memory) { delete static_cast<DeviceMemory*>(memory); }

px_code write(void*, void* memory, std::size_t offset, const void* from, std::size_t bytes,
              px_done done, void* done_context, px_status* status) {
  return answer(status, [&]() -> Status {
    return static_cast<DeviceMemory*>(memory)->write(offset, from, bytes,
                                                     answering(done, done_context));
  });
}
px_code read(void*, void* memory, std::size_t offset, void* to, std::size_t bytes, px_done done,
             void* done_context, px_status* status) {
  return answer(status, [&]() -> Status {
    return static_cast<DeviceMemory*>(memory)->read(offset, to, bytes,
                                                    answering(done, done_context));
  });
}

const px_delegate* table_of_functions() {
  static const px_delegate kTable = {sizeof(px_delegate),
                                     PX_DELEGATE_ABI,
                                     "opencl",
                                     &open,
                                     &close,
                                     &describe,
                                     &compile,
                                     &bind,
                                     &run,
                                     &cancel,
                                     &unbind,
                                     &discard,
                                     &allocate,
                                     &release,
                                     &write,
                                     &read,
                                     nullptr};
  return &kTable;
}

}  // namespace
}  // namespace parallax::opencl

namespace parallax {

extern "C" const px_delegate* px_opencl_delegate(void) { return opencl::table_of_functions(); }

}  // namespace parallax
