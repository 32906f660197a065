// The answers of delegates (px_done). What a delegate gets as its context is a number, not an
// address: an answer that comes twice, or for something that nobody waits for any more, finds
// nothing and does no harm.
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

/// Gets the first answer, on whatever thread the delegate answers.
using TakeAnswer = std::function<void(Status)>;

/// A context for px_done: give both to the delegate. Throws std::bad_alloc.
void* expect_answer(TakeAnswer take);
/// The px_done of all contexts.
void answer(void* context, px_code code, const char* message) noexcept;
/// The delegate has refused and will not answer. False where it has answered nevertheless.
bool expect_no_answer(void* context) noexcept;

/// What a delegate's function returned, with the text that it wrote, which is released.
Status status_of(px_code code, px_status& status);
/// An empty status of this version, to be written.
px_status no_status();

/// Calls a delegate's function: `call` gets a status. What it throws is a refusal.
template <class Call>
Status call_delegate(Call call) {
  px_status status = no_status();
  try {
    return status_of(call(&status), status);
  } catch (...) {
    return tl::unexpected(caught(Stage::kExecute));
  }
}

/// Calls a delegate: `call` gets a context and a status. `take` gets its answer, or why it refused.
/// Returns the context, null where it has refused.
template <class Call>
void* ask_delegate(const TakeAnswer& take, Call call) {
  void* const context = expect_answer(take);
  Status refused = call_delegate([&](px_status* status) { return call(context, status); });
  if (refused) return context;
  // A delegate that answers and refuses has answered.
  if (expect_no_answer(context)) take(std::move(refused));
  return nullptr;
}

/// Destroys what a delegate gave: later, on another thread, where this is a delegate's thread that
/// answers, because what hands things back may wait for that thread.
void destroy_outside_answers(std::function<void()> destroy);

/// A delegate's text, which may be null, up to `longest` characters, without control characters.
std::string one_line(const char* text, std::size_t longest);

}  // namespace parallax
