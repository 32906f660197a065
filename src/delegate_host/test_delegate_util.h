// A delegate for tests: computes a few operators, in the host's memory or its own, and fails on
// request.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "parallax/delegate.h"

namespace parallax {

/// The behaviour of the next calls. Thread-safe but for texts, which are set before a delegate is
/// opened.
struct TestFaults {
  std::string profile = R"(
name = "test"
[delegate]
name = "test"
launch_seconds = 1e-6
macs_per_second = 1e15
bytes_per_second = 1e15
cpu_macs_per_second = 1e6
memory_bytes = 1000000000
dtypes = ["f32"]
operators = ["Relu", "Neg", "Abs", "Exp", "Add"]
)";
  std::string device = "a test", driver = "1.0";
  px_dtype storage = 0;
  std::string unsupported = "";  ///< operator that it refuses when asked
  px_code unsupported_code = PX_UNSUPPORTED;
  const char* unsupported_text = "not\ntoday";
  bool throws_when_asked = false;
  std::atomic<int> asked{0};  ///< calls of supports
  std::atomic<bool> own_memory{false}, host_sees_it{false};
  std::atomic<std::int32_t> in_host_memory{0};
  std::atomic<int> refuse_open{0}, refuse_compile{0}, refuse_bind{0}, refuse_run{0}, fail_run{0},
      fail_copy{0}, refuse_memory{0};             ///< the next n calls
  std::atomic<int> good_runs{0}, good_copies{0};  ///< this many succeed before failures begin
  std::atomic<std::int64_t> region_bytes{0}, binding_bytes{0}, shared_bytes{0},
      staging_bytes{0};  ///< sizes that it reports
  /// Error codes of a refused bind and of a failing run.
  std::atomic<px_code> bind_code{PX_OUT_OF_MEMORY}, run_code{PX_IO};
  std::atomic<int> microseconds{200};  ///< before it answers
  std::atomic<bool> varies{false};     ///< one answer of three comes immediately
  std::atomic<bool> silent{false}, twice{false}, at_once{false}, null_handles{false};
  std::atomic<bool> heeds_cancel{false};  ///< answers a run that is cancelled
  std::atomic<int> opened{0}, closed{0}, compiled{0}, bound{0}, runs{0}, copies{0}, cancelled{0};
  std::atomic<int> regions{0}, bindings{0}, pieces{0};  ///< alive
  /// Bindings to other sizes than those for which the region was compiled.
  std::atomic<int> wrong_sizes{0};
  Mutex mutex;
  /// Answers that a silent delegate never gave.
  struct Held {
    void* context;
    std::function<void()> say;
  };
  std::vector<Held> held PX_GUARDED_BY(mutex);

  static bool take(std::atomic<int>& count) {
    for (int n = count.load(); n > 0;)
      if (count.compare_exchange_weak(n, n - 1)) return true;
    return false;
  }
  void answer_held() {
    std::vector<Held> all;
    {
      const MutexLock lock(mutex);
      all.swap(held);
    }
    for (const Held& one : all) one.say();
  }
};
/// The faults of the test delegates of the process: the first delegate's, and a second one's for
/// tests of two.
inline TestFaults*& test_faults(int which = 0) {
  static TestFaults* faults[2] = {};
  return faults[which];
}
inline TestFaults& faults_of(void* device) { return *static_cast<TestFaults*>(device); }

/// The steps of a region: an operator, indices of its inputs, index of its output.
struct TestRegion {
  struct Step {
    std::string op;
    std::vector<int> inputs;
    int output;
  };
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  std::map<int, std::vector<float>> constants;
  std::vector<std::vector<std::int64_t>> dims;  ///< dims of each value; -1: known when bound
};
struct TestBinding {
  TestRegion* region;
  std::vector<std::size_t> elements;
};

inline float test_operator(const std::string& op, float x, float y) {
  if (op == "Relu") return x > 0 ? x : 0;
  if (op == "Neg") return -x;
  if (op == "Abs") return std::fabs(x);
  if (op == "Exp") return std::exp(x);
  return x + y;
}

/// Answers immediately, or from another thread a moment later.
inline void test_answer(TestFaults& faults, px_done done, void* context, px_code code,
                        const char* text) {
  const auto say = [done, context, code, text, twice = faults.twice.load()] {
    done(context, code, text);
    if (twice) done(context, PX_INTERNAL, "again");
  };
  if (faults.silent) {
    const MutexLock lock(faults.mutex);
    faults.held.push_back({context, say});
  } else if (faults.at_once || (faults.varies && faults.runs % 3 == 0)) {
    say();
  } else {
    std::thread([say, wait = std::chrono::microseconds(faults.microseconds)] {
      std::this_thread::sleep_for(wait);
      say();
    }).detach();
  }
}

inline px_code test_compile(void* device, const px_region* given, px_compiled* out,
                            px_status* status) {
  TestFaults& faults = faults_of(device);
  ++faults.compiled;
  if (TestFaults::take(faults.refuse_compile))
    return px_fail(status, PX_UNSUPPORTED, "no program for this");
  if (faults.null_handles) return PX_OK;
  auto* region = new TestRegion;
  for (std::size_t i = 0; i < given->node_count; ++i) {
    const px_node& node = *given->nodes[i];
    region->steps.push_back(
        {node.op, {node.inputs, node.inputs + node.input_count}, node.outputs[0]});
  }
  region->inputs.assign(given->inputs, given->inputs + given->input_count);
  region->outputs.assign(given->outputs, given->outputs + given->output_count);
  for (std::size_t i = 0; i < given->value_count; ++i) {
    const px_type& type = *given->values[i]->type;
    region->dims.emplace_back(type.dims, type.dims + type.rank);
    const px_tensor* const constant = given->values[i]->constant;
    if (constant == nullptr) continue;
    auto& numbers = region->constants[static_cast<int>(i)];
    numbers.resize(constant->bytes / sizeof(float));
    std::memcpy(numbers.data(), constant->data, constant->bytes);
  }
  ++faults.regions;
  out->region = region;
  out->memory_bytes = faults.region_bytes;
  return PX_OK;
}

inline px_code test_supports(void* device, const px_region* node, const px_sizes* sizes,
                             px_status* status) {
  TestFaults& faults = faults_of(device);
  ++faults.asked;
  if (faults.throws_when_asked) throw std::runtime_error("lost");
  if (node->node_count != 1 || sizes->value_count != node->value_count)
    return px_fail(status, PX_INTERNAL, "not one node");
  if (node->nodes[0]->op != faults.unsupported) return PX_OK;
  return px_fail(status, faults.unsupported_code, faults.unsupported_text);
}

inline bool test_fits(const TestRegion& region, const px_sizes& sizes) {
  for (std::size_t i = 0; i < sizes.value_count; ++i) {
    const px_tensor& value = *sizes.values[i];
    if (value.rank != static_cast<int>(region.dims[i].size())) return false;
    for (std::size_t axis = 0; axis < region.dims[i].size(); ++axis)
      if (region.dims[i][axis] >= 0 && region.dims[i][axis] != value.dims[axis]) return false;
  }
  return true;
}

inline px_code test_bind(void* device, void* region, const px_sizes* sizes, px_binding* out,
                         px_status* status) {
  TestFaults& faults = faults_of(device);
  ++faults.bound;
  if (TestFaults::take(faults.refuse_bind))
    return px_fail(status, faults.bind_code, "no room for these sizes");
  if (!test_fits(*static_cast<TestRegion*>(region), *sizes)) ++faults.wrong_sizes;
  auto* binding = new TestBinding{static_cast<TestRegion*>(region), {}};
  for (std::size_t i = 0; i < sizes->value_count; ++i)
    binding->elements.push_back(sizes->values[i]->bytes / sizeof(float));
  ++faults.bindings;
  out->binding = binding;
  out->memory_bytes = faults.binding_bytes;
  out->shared_bytes = faults.shared_bytes;
  return PX_OK;
}

inline char* test_bytes(const px_place& place) {
  return static_cast<char*>(place.data != nullptr ? place.data : place.memory) + place.offset;
}

inline void test_compute(const TestBinding& binding, const px_run& run) {
  std::vector<std::vector<float>> values(binding.region->dims.size());
  for (const auto& [index, numbers] : binding.region->constants)
    values[static_cast<std::size_t>(index)] = numbers;
  const auto at = [&](int i) -> std::vector<float>& { return values[static_cast<std::size_t>(i)]; };
  for (std::size_t i = 0; i < run.input_count; ++i) {
    std::vector<float>& value = at(binding.region->inputs[i]);
    value.resize(run.inputs[i]->bytes / sizeof(float));
    std::memcpy(value.data(), test_bytes(*run.inputs[i]), run.inputs[i]->bytes);
  }
  for (const TestRegion::Step& step : binding.region->steps) {
    const std::vector<float>&x = at(step.inputs.front()), &y = at(step.inputs.back());
    std::vector<float> result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) result[i] = test_operator(step.op, x[i], y[i]);
    at(step.output) = std::move(result);
  }
  for (std::size_t i = 0; i < run.output_count; ++i)
    std::memcpy(test_bytes(*run.outputs[i]), at(binding.region->outputs[i]).data(),
                run.outputs[i]->bytes);
}

inline px_code test_run(void* device, void* binding, const px_run* run, px_done done, void* context,
                        px_status* status) {
  TestFaults& faults = faults_of(device);
  ++faults.runs;
  if (TestFaults::take(faults.refuse_run)) {
    if (faults.twice) done(context, PX_IO, "lost");
    return px_fail(status, PX_IO, "the device is lost");
  }
  const bool fails = !TestFaults::take(faults.good_runs) && TestFaults::take(faults.fail_run);
  if (!fails) test_compute(*static_cast<TestBinding*>(binding), *run);
  test_answer(faults, done, context, fails ? faults.run_code.load() : PX_OK,
              fails ? "device\nlost" : nullptr);
  return PX_OK;
}

inline px_code test_copy(TestFaults& faults, void* to, const void* from, std::size_t bytes,
                         px_done done, void* context) {
  ++faults.copies;
  const bool fails = !TestFaults::take(faults.good_copies) && TestFaults::take(faults.fail_copy);
  if (!fails) std::memcpy(to, from, bytes);
  test_answer(faults, done, context, fails ? PX_IO : PX_OK, fails ? "no copy" : nullptr);
  return PX_OK;
}

inline void test_cancel(void* device, void*, void* context) {
  TestFaults& faults = faults_of(device);
  ++faults.cancelled;
  std::vector<TestFaults::Held> ended;
  if (faults.heeds_cancel) {
    const MutexLock lock(faults.mutex);
    for (TestFaults::Held& each : faults.held)
      if (each.context == context) ended.push_back(std::move(each));
    std::erase_if(faults.held, [](const auto& each) { return each.say == nullptr; });
  }
  for (const auto& each : ended) each.say();
}

inline px_code test_allocate(void* device, std::size_t bytes, px_memory* memory,
                             px_status* status) {
  TestFaults& faults = faults_of(device);
  if (TestFaults::take(faults.refuse_memory))
    return px_fail(status, PX_OUT_OF_MEMORY, "device full");
  memory->memory = new char[bytes];
  memory->host = faults.host_sees_it ? memory->memory : nullptr;
  memory->host_bytes = faults.staging_bytes;
  ++faults.pieces;
  return PX_OK;
}

/// Copies of it may be changed and opened.
template <int kWhich = 0>
px_delegate test_delegate() {
  px_delegate table{};
  table.size = sizeof table;
  table.abi = PX_DELEGATE_ABI;
  table.name = kWhich == 0 ? "test" : "second";
  table.open = [](const px_open_options* options, void** device, px_status* status) {
    TestFaults& faults = *test_faults(kWhich);
    if (TestFaults::take(faults.refuse_open))
      return px_fail(status, PX_UNSUPPORTED, "no such device");
    options->log(options->log_context, 0, "open");
    ++faults.opened;
    *device = &faults;
    return px_code{PX_OK};
  };
  table.close = [](void* device) { ++faults_of(device).closed; };
  table.describe = [](void* device, px_description* description, px_status*) {
    const TestFaults& faults = faults_of(device);
    description->device = faults.device.c_str();
    description->driver = faults.driver.c_str();
    description->profile = faults.profile.c_str();
    description->storage = faults.storage;
    description->memory = faults.own_memory ? PX_MEMORY_DEVICE : PX_MEMORY_HOST;
    description->in_host_memory = faults.in_host_memory;
    return px_code{PX_OK};
  };
  table.compile = test_compile;
  table.bind = test_bind;
  table.run = test_run;
  table.cancel = test_cancel;
  table.unbind = [](void* device, void*, void* binding) {
    delete static_cast<TestBinding*>(binding);
    --faults_of(device).bindings;
  };
  table.discard = [](void* device, void* region) {
    delete static_cast<TestRegion*>(region);
    --faults_of(device).regions;
  };
  table.allocate = test_allocate;
  table.release = [](void* device, void* memory) {
    delete[] static_cast<char*>(memory);
    --faults_of(device).pieces;
  };
  table.write = [](void* device, void* memory, std::size_t offset, const void* from,
                   std::size_t bytes, px_done done, void* context, px_status*) {
    return test_copy(faults_of(device), static_cast<char*>(memory) + offset, from, bytes, done,
                     context);
  };
  table.read = [](void* device, void* memory, std::size_t offset, void* to, std::size_t bytes,
                  px_done done, void* context, px_status*) {
    return test_copy(faults_of(device), to, static_cast<char*>(memory) + offset, bytes, done,
                     context);
  };
  table.supports = test_supports;
  return table;
}

/// Sets the faults of the process while it lives, and as long as a delegate that it opened does: a
/// thread that nothing waits for may close it.
struct WithFaults : TestFaults {
  explicit WithFaults(int which_in = 0) : which(which_in) { test_faults(which) = this; }
  ~WithFaults() {
    for (int i = 0; i < 5000 && closed != opened; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    test_faults(which) = nullptr;
  }
  const int which;
  WithFaults(const WithFaults&) = delete;
  WithFaults& operator=(const WithFaults&) = delete;
};

}  // namespace parallax
