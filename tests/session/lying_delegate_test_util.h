// For tests: a delegate that computes as the test delegate does, and lies in some of its calls: it
// answers twice, late or not at all, fills abandoned results with NaN, throws, gives no handles and
// impossible numbers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "delegate_host/test_delegate_util.h"

namespace parallax {

/// What it does in place of the second test delegate, whose faults it counts as.
struct Lies : WithFaults {
  /// `wrong_table`: which lie its table or description is; 0: none (kTables in all).
  static constexpr unsigned kTables = 14;
  Lies(unsigned seed, unsigned wrong_table_in)
      : WithFaults(1), wrong_table(wrong_table_in), state_(seed) {}

  /// A number below `limit`.
  unsigned draw(unsigned limit) {
    std::uint64_t x = state_.fetch_add(0x9E3779B97F4A7C15ULL) + 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return static_cast<unsigned>((x ^ (x >> 31U)) % limit);
  }
  /// Which of `count` lies the next call is; `count`: it tells the truth.
  unsigned lie(unsigned count) {
    const unsigned every = one_in;
    return every > 0 && draw(every) == 0 ? draw(count) : count;
  }

  /// Whether the host wants no result of that run any more; forgets it.
  bool given_up(void* context) {
    const MutexLock lock(mutex);
    return given_up_.erase(context) > 0;
  }
  void give_up(void* context) {
    const MutexLock lock(mutex);
    given_up_.insert(context);
  }

  const unsigned wrong_table;
  std::atomic<unsigned> one_in{12};       ///< calls of which one lies; 0: none
  std::atomic<bool> keeps_answers{true};  ///< answers some runs late and others only when asked

 private:
  std::atomic<std::uint64_t> state_;
  std::set<void*> given_up_ PX_GUARDED_BY(mutex);
};
inline Lies& lies_of(void* device) { return static_cast<Lies&>(faults_of(device)); }

/// A run that has begun: what it needs until it is answered.
class LyingRun {
 public:
  LyingRun(void* device, void* binding, const px_run& run, px_done done, void* context)
      : lies_(&lies_of(device)),
        binding_(static_cast<TestBinding*>(binding)),
        done_(done),
        context_(context) {
    for (std::size_t i = 0; i < run.input_count; ++i) inputs_.push_back(*run.inputs[i]);
    for (std::size_t i = 0; i < run.output_count; ++i) outputs_.push_back(*run.outputs[i]);
  }
  void compute() const {
    std::vector<const px_place*> in, out;
    for (const px_place& place : inputs_) in.push_back(&place);
    for (const px_place& place : outputs_) out.push_back(&place);
    test_compute(*binding_, {sizeof(px_run), in.size(), in.data(), out.size(), out.data()});
  }
  void spoil() const {
    for (const px_place& place : outputs_) {
      const std::vector<float> numbers(place.bytes / sizeof(float),
                                       std::numeric_limits<float>::quiet_NaN());
      if (place.bytes > 0) std::memcpy(test_bytes(place), numbers.data(), place.bytes);
    }
  }
  void answer(px_code code, const char* text = nullptr) const { done_(context_, code, text); }
  /// The truth, or NaN where the host has said that it wants nothing any more.
  void answer_late() const {
    lies_->given_up(context_) ? spoil() : compute();
    answer(PX_OK);
  }
  void answer_after(std::chrono::milliseconds wait) const {
    std::thread([run = *this, wait] {
      std::this_thread::sleep_for(wait);
      run.answer_late();
    }).detach();
  }
  /// Not before TestFaults::answer_held().
  void hold() const {
    const MutexLock lock(lies_->mutex);
    lies_->held.push_back({context_, [run = *this] { run.answer_late(); }});
  }
  void answer_more_than_once() const {
    compute();
    const px_done done = done_;
    void* const context = context_;
    done(context, PX_OK, nullptr);
    done(nullptr, PX_OK, "none");
    std::thread([done, context] {
      for (int i = 0; i < 3; ++i) done(context, PX_INTERNAL, "again");
    }).detach();
  }

 private:
  Lies* lies_;
  TestBinding* binding_;
  px_done done_;
  void* context_;
  std::vector<px_place> inputs_, outputs_;
};

inline px_code lying_run(void* device, void* binding, const px_run* given, px_done done,
                         void* context, px_status* status) {
  Lies& lies = lies_of(device);
  const LyingRun run(device, binding, *given, done, context);
  constexpr unsigned kLies = 10;
  const unsigned lie = lies.lie(kLies);
  if (lie == kLies) return test_run(device, binding, given, done, context, status);
  ++lies.runs;
  switch (lie) {
    case 0:
      run.answer_more_than_once();
      return PX_OK;
    case 1:
    case 2:  // within the time limit of the test, or beyond it
      run.answer_after(std::chrono::milliseconds(lie == 1 ? 5 : 60));
      return PX_OK;
    case 3:
      lies.keeps_answers ? run.hold() : run.answer_late();
      return PX_OK;
    case 4:
      run.spoil();
      run.answer(-12345, "bad\ncode");
      return PX_OK;
    case 5:
      run.spoil();
      throw std::runtime_error("thrown by run");
    case 6:  // has answered, whatever it returns
      run.compute();
      run.answer(PX_OK);
      return px_fail(status, PX_INTERNAL, "no");
    case 7:
      return px_fail(status, 999, "code\n999 \x1b[31m red");
    case 8:
      run.answer(PX_BUDGET_EXCEEDED);
      return PX_OK;
    default:
      run.answer(PX_OUT_OF_MEMORY, "");
      return PX_OK;
  }
}

inline px_code lying_compile(void* device, const px_region* region, px_compiled* out,
                             px_status* status) {
  constexpr unsigned kLies = 5;
  const unsigned lie = lies_of(device).lie(kLies);
  if (lie == 0) throw 42;
  if (lie == 1) return PX_OK;  // without a region
  if (lie == 2) return px_fail(status, PX_UNSUPPORTED, nullptr);
  const px_code code = test_compile(device, region, out, status);
  if (lie == 3) out->memory_bytes = std::numeric_limits<std::int64_t>::max();
  if (lie == 4) out->memory_bytes = std::numeric_limits<std::int64_t>::min();
  return code;
}

inline px_code lying_bind(void* device, void* region, const px_sizes* sizes, px_binding* out,
                          px_status* status) {
  constexpr unsigned kLies = 8;
  Lies& lies = lies_of(device);
  const unsigned lie = lies.lie(kLies);
  if (lie == 0) throw std::runtime_error("thrown by bind");
  if (lie == 1) return PX_OK;  // without a binding
  if (lie == 2) return px_fail(status, PX_UNSUPPORTED, "too large");
  if (lie == 3) return px_fail(status, PX_IO, nullptr);
  const px_code code = test_bind(device, region, sizes, out, status);
  if (lie == 4) out->memory_bytes = out->shared_bytes = std::numeric_limits<std::int64_t>::max();
  if (lie == 5) out->memory_bytes = out->shared_bytes = std::numeric_limits<std::int64_t>::min();
  if (lie == 6) out->size = 0;
  if (lie == 7) out->memory_bytes = lies.draw(20'000);
  return code;
}

inline px_code lying_allocate(void* device, std::size_t bytes, px_memory* out, px_status* status) {
  static const px_delegate table = test_delegate<1>();
  constexpr unsigned kLies = 3;
  const unsigned lie = lies_of(device).lie(kLies);
  if (lie == 0) return px_fail(status, PX_OUT_OF_MEMORY, "full");
  if (lie == 1) return PX_OK;  // without memory
  if (lie == 2) throw std::bad_alloc();
  return table.allocate(device, bytes, out, status);
}

inline px_code lying_describe(void* device, px_description* description, px_status* status) {
  static const px_delegate table = test_delegate<1>();
  const px_code code = table.describe(device, description, status);
  description->device = "liar\n\x1b[31mred";
  description->driver = nullptr;
  switch (lies_of(device).wrong_table) {
    case 1:
      description->profile = nullptr;
      break;
    case 2:
      description->profile = "neither TOML\nnor = \xff\xfe";
      break;
    case 3:
      description->profile =
          "name = 'liar'\n[delegate]\nname = 'liar'\nlaunch_seconds = nan\n"
          "macs_per_second = inf\nbytes_per_second = 0.0\ncpu_macs_per_second = -1.0\n"
          "memory_bytes = 9223372036854775807\ndtypes = ['f32']\noperators = ['Relu']\n";
      break;
    case 4:
      description->memory = 77;
      break;
    case 5:
      description->storage = 12345;
      break;
    case 6:
      throw 42;
    default:
      break;
  }
  return code;
}

inline px_code lying_open(const px_open_options* options, void** device, px_status* status) {
  static const px_delegate table = test_delegate<1>();
  const unsigned wrong = static_cast<Lies&>(*test_faults(1)).wrong_table;
  if (wrong == 7) throw std::runtime_error("thrown by open");
  if (wrong == 8) return PX_OK;  // without a device
  if (wrong == 9) return px_fail(status, 999, "code\n999");
  options->log(options->log_context, std::numeric_limits<std::int32_t>::min(), nullptr);
  return table.open(options, device, status);
}

/// Named "liar". Lies that follow Lies::wrong_table are in it.
inline px_delegate lying_delegate(unsigned wrong_table) {
  px_delegate table = test_delegate<1>();
  table.name = wrong_table == 10 ? "../x\n" : "liar";
  if (wrong_table == 11) table.abi = 7;
  if (wrong_table == 12) table.size = 9;
  table.open = lying_open;
  table.describe = lying_describe;
  table.compile = lying_compile;
  table.bind = lying_bind;
  table.run = wrong_table == 13 ? nullptr : lying_run;
  table.cancel = [](void* device, void*, void* context) {
    ++faults_of(device).cancelled;
    lies_of(device).give_up(context);
  };
  table.allocate = lying_allocate;
  return table;
}

}  // namespace parallax
