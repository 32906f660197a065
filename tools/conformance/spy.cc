#include "spy.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "base/mutex.h"

namespace parallax::conformance {
namespace {

constexpr std::size_t kMargin = 64;
constexpr std::byte kMark{0xA5};

/// Memory with a margin on both sides, in place of a tensor that a run writes in the host's memory.
struct Guarded {
  explicit Guarded(std::size_t bytes) : all(bytes + 2 * kMargin + 64, kMark) {
    const auto at = reinterpret_cast<std::uintptr_t>(all.data() + kMargin);
    first = kMargin + (64 - at % 64) % 64;
    size = bytes;
    // An element that a run leaves out reads as NaN, or as a number that no case has.
    std::fill_n(data(), bytes, std::byte{0xFF});
  }
  std::byte* data() { return all.data() + first; }
  bool is_intact() const {
    const auto marked = [](std::byte byte) { return byte == kMark; };
    const auto begin = all.begin();
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(first), marked) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(first + size), all.end(), marked);
  }
  std::vector<std::byte> all;
  std::size_t first = 0, size = 0;
};

/// Something that the delegate is to answer. Lives as long as the process: it may answer again.
struct Asked {
  const char* what;
  px_done done;
  void* context;
  int suite;  ///< in which it was asked
  int answers = 0;
  bool refused = false;
  std::vector<std::unique_ptr<Guarded>> outputs = {};
  std::vector<void*> wanted = {};                                           ///< the host's buffers
  std::vector<std::pair<const void*, std::vector<std::byte>>> inputs = {};  ///< as they were
};

struct Spied {
  Mutex mutex;
  Condition answered;
  px_delegate table{};
  std::atomic<px_dtype> storage{PX_FLOAT32};
  std::atomic<bool> cancel{false};
  int suite PX_GUARDED_BY(mutex) = 0;  ///< one after the other
  std::set<std::string> problems PX_GUARDED_BY(mutex);
  std::map<std::uintptr_t, std::unique_ptr<Asked>> asked PX_GUARDED_BY(mutex);
  std::uintptr_t last PX_GUARDED_BY(mutex) = 0;
  std::size_t open PX_GUARDED_BY(mutex) = 0;  ///< not answered
};
Spied& spied() {
  static auto* const all = new Spied;
  return *all;
}

void note_problem(Spied& spy, std::string problem) PX_REQUIRES(spy.mutex) {
  spy.problems.insert(std::move(problem));
}

/// Copies what was made to the host, and looks at what should be as it was.
void check_memory(Spied& spy, Asked& asked, bool good) PX_REQUIRES(spy.mutex) {
  for (std::size_t i = 0; i < asked.outputs.size(); ++i) {
    Guarded& output = *asked.outputs[i];
    if (!output.is_intact()) note_problem(spy, "a run writes outside of its outputs");
    if (good) std::memcpy(asked.wanted[i], output.data(), output.size);
  }
  for (const auto& [data, before] : asked.inputs)
    if (std::memcmp(data, before.data(), before.size()) != 0)
      note_problem(spy, "a run writes to its inputs");
  asked.outputs.clear();
  asked.inputs.clear();
}

void spy_done(void* context, px_code code, const char* message) {
  Spied& spy = spied();
  px_done done = nullptr;
  void* host = nullptr;
  int suite = 0;
  {
    const MutexLock lock(spy.mutex);
    const auto found = spy.asked.find(reinterpret_cast<std::uintptr_t>(context));
    if (found == spy.asked.end()) return note_problem(spy, "an answer with an unknown context");
    Asked& asked = *found->second;
    if (asked.answers++ > 0 || asked.refused)
      return note_problem(spy,
                          std::string("a ") + asked.what +
                              (asked.refused ? " is refused and answered" : " is answered twice"));
    check_memory(spy, asked, code == PX_OK);
    done = asked.done;
    host = asked.context;
    suite = asked.suite;
  }
  done(host, code, message);
  // Only now: what follows the answer, such as the run behind a copy, has been asked for.
  const MutexLock lock(spy.mutex);
  if (suite == spy.suite) --spy.open;
  spy.answered.notify_all();
}

/// Notes that something will be answered; its number is the context that the delegate gets.
std::pair<void*, Asked*> ask(const char* what, px_done done, void* context) {
  Spied& spy = spied();
  const MutexLock lock(spy.mutex);
  ++spy.open;
  const std::uintptr_t number = ++spy.last;
  auto& asked = spy.asked[number];
  asked = std::make_unique<Asked>(Asked{what, done, context, spy.suite});
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never an address
  return {reinterpret_cast<void*>(number), asked.get()};
}

px_code began(px_code code, Asked& asked) {
  if (code == PX_OK) return code;
  Spied& spy = spied();
  const MutexLock lock(spy.mutex);
  asked.refused = true;
  if (asked.answers > 0) {
    note_problem(spy, std::string("a ") + asked.what + " is answered and refused");
  } else {
    if (asked.suite == spy.suite) --spy.open;
    asked.outputs.clear();
  }
  spy.answered.notify_all();
  return code;
}

px_code spy_compile(void* device, const px_region* region, px_compiled* out, px_status* status) {
  px_region asked = *region;
  asked.storage = spied().storage;
  const px_code code = spied().table.compile(device, &asked, out, status);
  if (code == PX_OK && out->memory_bytes < 0) {
    Spied& spy = spied();
    const MutexLock lock(spy.mutex);
    note_problem(spy, "compile gives a negative memory_bytes");
  }
  return code;
}

px_code spy_run(void* device, void* binding, const px_run* run, px_done done, void* context,
                px_status* status) {
  const auto [number, asked] = ask("run", done, context);
  std::vector<px_place> places;
  std::vector<const px_place*> outputs;
  places.reserve(run->output_count);
  for (std::size_t i = 0; i < run->output_count; ++i) {
    places.push_back(*run->outputs[i]);
    px_place& place = places.back();
    outputs.push_back(&place);
    if (place.data == nullptr) continue;
    asked->outputs.push_back(std::make_unique<Guarded>(place.bytes));
    asked->wanted.push_back(place.data);
    place.data = asked->outputs.back()->data();
  }
  for (std::size_t i = 0; i < run->input_count; ++i) {
    const px_place& place = *run->inputs[i];
    const auto* const data = static_cast<const std::byte*>(place.data);
    if (data != nullptr) asked->inputs.emplace_back(data, std::vector(data, data + place.bytes));
  }
  px_run guarded = *run;
  guarded.outputs = outputs.data();
  const Spied& spy = spied();
  const px_code code =
      began(spy.table.run(device, binding, &guarded, spy_done, number, status), *asked);
  if (code == PX_OK && spy.cancel && spy.table.cancel != nullptr)
    spy.table.cancel(device, binding, number);
  return code;
}

px_code spy_write(void* device, void* memory, size_t offset, const void* from, size_t bytes,
                  px_done done, void* context, px_status* status) {
  const auto [number, asked] = ask("write", done, context);
  return began(spied().table.write(device, memory, offset, from, bytes, spy_done, number, status),
               *asked);
}

px_code spy_read(void* device, void* memory, size_t offset, void* to, size_t bytes, px_done done,
                 void* context, px_status* status) {
  const auto [number, asked] = ask("read", done, context);
  return began(spied().table.read(device, memory, offset, to, bytes, spy_done, number, status),
               *asked);
}

}  // namespace

px_delegate start_spying(const px_delegate& table) {
  Spied& spy = spied();
  const MutexLock lock(spy.mutex);
  spy.table = table;
  spy.storage = PX_FLOAT32;
  spy.cancel = false;
  ++spy.suite;
  spy.problems.clear();
  spy.open = 0;
  px_delegate between = table;
  between.compile = spy_compile;
  between.run = spy_run;
  if (table.write != nullptr) between.write = spy_write;
  if (table.read != nullptr) between.read = spy_read;
  return between;
}

void wish(SpyWishes wishes) {
  spied().storage = wishes.storage;
  spied().cancel = wishes.cancel;
}

std::vector<std::string> take_problems() {
  Spied& spy = spied();
  const MutexLock lock(spy.mutex);
  std::vector<std::string> problems(spy.problems.begin(), spy.problems.end());
  spy.problems.clear();
  return problems;
}

bool wait_for_answers(std::chrono::milliseconds most) {
  Spied& spy = spied();
  const auto until = std::chrono::steady_clock::now() + most;
  const MutexLock lock(spy.mutex);
  while (spy.open > 0)
    if (!spy.answered.wait_until(spy.mutex, until)) return spy.open == 0;
  return true;
}

}  // namespace parallax::conformance
