// Dispatches the answers of delegates (px_done). The context that a delegate receives is a number,
// not an address: a second answer, or one for a run that no caller waits for any more, is ignored
// safely.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "base/caught.h"
#include "parallax/delegate.h"
#include "parallax/result.h"

namespace parallax {

/// A callback that receives the first answer, on whatever thread the delegate answers. Exceptions
/// are ignored.
using TakeAnswer = std::function<void(Status)>;

/// Registers `take` and returns a context for it; pass it and answer() to the delegate. Never null.
/// Throws std::bad_alloc.
void* expect_answer(TakeAnswer take);
/// The px_done for all contexts. Ignores contexts that were answered or removed. Marks a ShortCall,
/// so that fork() waits for it.
void answer(void* context, px_code code, const char* message) noexcept;
/// Removes `context` after the delegate refused the call. Returns false if it has answered
/// nevertheless.
bool expect_no_answer(void* context) noexcept;

/// Converts the result of a delegate's function and releases the text that it wrote into `status`.
/// Errors have stage kRun and always a text, of one line and at most 500 characters.
Status status_of(px_code code, px_status& status);
/// Returns an empty status of this version, for a delegate to fill in.
px_status no_status();

/// Calls a delegate's function: `call` receives a status to pass on. An exception counts as a
/// refusal.
template <class Call>
Status call_delegate(Call call) {
  px_status status = no_status();
  try {
    return status_of(call(&status), status);
  } catch (...) {
    return tl::unexpected(caught(Stage::kRun));
  }
}

/// Starts an asynchronous call: `call` receives a context and a status to pass on. `take` is called
/// exactly once if the delegate keeps its contract, with its answer or the reason of its refusal.
/// Returns the context, or null if the delegate refused.
template <class Call>
void* ask_delegate(const TakeAnswer& take, Call call) {
  void* const context = expect_answer(take);
  Status refused = call_delegate([&](px_status* status) { return call(context, status); });
  if (refused) return context;
  // A delegate that answers and then refuses has answered.
  if (expect_no_answer(context)) take(std::move(refused));
  return nullptr;
}

/// Runs `destroy`, which releases an object of a delegate; on another thread if the current one is
/// delivering an answer, because the release may wait for that thread. If no thread can be started,
/// the object leaks.
void destroy_outside_answers(std::function<void()> destroy);

/// Returns a delegate's text, which may be null, without control characters; at most `longest`
/// bytes.
std::string one_line(const char* text, std::size_t longest);

}  // namespace parallax
