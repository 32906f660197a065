// Wrappers for public entry points: convert exceptions to errors, and reject calls in a process
// that was forked while another thread was in a call (an unsafe fork). Thread-safe.
//
// Exceptions do not leave the public API: a function that returns a Result runs inside
// without_exceptions(). Both wrappers hold a Call (base/machine/fork.h) while they run, so that the
// child of a fork() during the call can tell.
#pragma once

#include <string>
#include <utility>

#include "base/caught.h"
#include "base/machine/fork.h"
#include "base/status.h"

namespace parallax {

/// Returns an error of stage kSession for no particular node.
inline tl::unexpected<Error> refuse(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
}

/// Calls a function that returns a Result and converts its exceptions to errors (base/caught.h).
/// Holds a Call during the call. Errors: kUnsupported after an unsafe fork, without calling
/// `function`; kOutOfMemory or kInternal for exceptions. `function` runs on the calling thread,
/// without locks of the wrapper's own; wrappers may be nested.
template <class Function>
auto without_exceptions(Function function) -> decltype(function()) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    return function();
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

/// Returns figure(), or a default-constructed value after an unsafe fork: for statistics, which
/// have no way to report errors. Exceptions propagate. Used for counters and sizes, such as those
/// of a runtime's memory.
template <class Function>
auto unless_forked_during_call(Function figure) -> decltype(figure()) {
  const Call call;
  if (forked_during_call()) return {};
  return figure();
}

}  // namespace parallax
