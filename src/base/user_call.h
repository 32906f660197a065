// What every call of the user's has around it.
#pragma once

#include <string>
#include <utility>

#include "base/caught.h"
#include "base/fork.h"
#include "base/status.h"

namespace parallax {

inline tl::unexpected<Error> refuse(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
}

/// Calls a function that returns a Result; what the standard library throws becomes an error.
template <class Function>
auto without_exceptions(Function function) -> decltype(function()) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_not_torn());
    return function();
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

/// A figure, which says nothing where it cannot be read.
template <class Function>
auto unless_torn(Function figure) -> decltype(figure()) {
  const Call call;
  if (torn_by_fork()) return {};
  return figure();
}

}  // namespace parallax
