// Macros for Result: return early with the error of an expression. Each evaluates its argument
// once.
//
// Both work in functions that return Status or any Result. The error of a call is moved, that of a
// variable copied.
#pragma once

#include <utility>

#include "parallax/result.h"

#define PX_CONCAT_INNER(a, b) a##b
#define PX_CONCAT(a, b) PX_CONCAT_INNER(a, b)

/// Returns from the enclosing function with the error of `expr`, a Status or Result.
#define PX_RETURN_IF_ERROR(expr)                                                               \
  do {                                                                                         \
    if (auto px_ended = (expr); !px_ended) return tl::unexpected(std::move(px_ended).error()); \
  } while (false)

/// PX_ASSIGN(auto x, f()): assigns the value of a Result, or returns with its error. Expands to
/// several statements, so it must not be the body of an `if` without braces. At most one per line.
#define PX_ASSIGN(decl, expr) PX_ASSIGN_INNER(PX_CONCAT(px_result_, __LINE__), decl, expr)
#define PX_ASSIGN_INNER(tmp, decl, expr)                   \
  auto tmp = (expr);                                       \
  if (!tmp) return tl::unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)
