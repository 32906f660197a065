#include "delegate_host/answers.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/c_types.h"
#include "base/machine/fork.h"
#include "base/mutex.h"

namespace parallax {
namespace {

/// Lives as long as the process: a delegate may answer while it ends.
struct Expected {
  Mutex mutex;
  std::uintptr_t last PX_GUARDED_BY(mutex) = 0;
  std::unordered_map<std::uintptr_t, TakeAnswer> takers PX_GUARDED_BY(mutex);
};
Expected& expected() {
  static auto* const all = new Expected;
  return *all;
}

thread_local int answers_on_this_thread = 0;

TakeAnswer taker_of(void* context) {
  Expected& all = expected();
  const MutexLock lock(all.mutex);
  const auto found = all.takers.find(reinterpret_cast<std::uintptr_t>(context));
  if (found == all.takers.end()) return nullptr;
  TakeAnswer take = std::move(found->second);
  all.takers.erase(found);
  return take;
}

/// No more of a delegate's message than a person reads.
constexpr std::size_t kLongestMessage = 500;

}  // namespace

std::string one_line(const char* text, std::size_t longest) {
  if (text == nullptr) return {};
  std::string line(text, std::find(text, text + longest, '\0'));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

px_status no_status() {
  px_status status{};
  status.size = sizeof status;
  return status;
}

Status status_of(px_code code, px_status& status) {
  status.size = sizeof status;
  status.code = code;
  const std::string message = code == PX_OK ? "" : one_line(status.message, kLongestMessage);
  Status result = status_from(&status);
  if (result) return result;
  Error& error = result.error();
  error.stage = Stage::kRun;
  error.message = message.empty() ? "error " + std::to_string(code) + " without a text" : message;
  return result;
}

void* expect_answer(TakeAnswer take) {
  Expected& all = expected();
  const MutexLock lock(all.mutex);
  const std::uintptr_t number = ++all.last;
  all.takers.emplace(number, std::move(take));
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): never an address
}

bool expect_no_answer(void* context) noexcept { return taker_of(context) != nullptr; }

void answer(void* context, px_code code, const char* message) noexcept {
  const ShortCall call;
  TakeAnswer take = taker_of(context);
  if (take == nullptr) return;
  ++answers_on_this_thread;
  try {
    px_status status = no_status();
    status.message = message;
    take(status_of(code, status));
  } catch (...) {  // NOLINT(bugprone-empty-catch): takers handle their own failures
  }
  // The taker may hold the last reference to an object of the delegate.
  take = nullptr;
  --answers_on_this_thread;
}

void destroy_outside_answers(std::function<void()> destroy) {
  if (answers_on_this_thread > 0) {
    try {
      std::thread([destroy = std::move(destroy), call = std::make_unique<ShortCall>()]() mutable {
        destroy();
        destroy = nullptr;
      }).detach();
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): better kept than stuck
    }
    return;
  }
  destroy();
}

}  // namespace parallax
