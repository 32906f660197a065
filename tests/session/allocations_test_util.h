// Counts the allocations of the test program and makes chosen ones fail: operator new, and what the
// library takes from the system directly. Defined in allocations_test.cc. Thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "parallax/result.h"

namespace parallax {

/// Calls of operator new so far.
std::int64_t news();

/// kStranger: one, whose operator new throws what the library does not know, with the text
/// kStrange.
enum class Failures : std::uint8_t { kOne, kAllFromThere, kStranger };
inline constexpr const char* kStrange = "a stranger";

/// While it lives, the `nth` allocation from now on fails, in whatever thread; 1 is the next one.
/// Only one may live at a time.
class FailingAllocations {
 public:
  FailingAllocations(std::int64_t nth, Failures failures);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  /// Whether an allocation failed.
  static bool any_failed();
};

/// Every allocator asks this.
bool allocation_fails();

/// Calls `attempt` with each allocation failing in turn, beyond kEach those further apart by a part
/// of `parts` each, until one is reached that it does not come to. `attempt` fails only with
/// kOutOfMemory, where a stranger is thrown also with its text.
#ifdef __SANITIZE_THREAD__
inline constexpr std::int64_t kEach = 20, kFewer = 10;  // a run takes ten times as long
#else
inline constexpr std::int64_t kEach = 100, kFewer = 1;
#endif
template <class Attempt>
void with_failures(const char* what, std::int64_t parts, Attempt attempt,
                   std::initializer_list<Failures> kinds = {Failures::kOne,
                                                            Failures::kAllFromThere}) {
  for (const Failures failures : kinds) {
    for (std::int64_t nth = 1;;
         nth += 1 + std::max<std::int64_t>(nth - kEach, 0) * kFewer / parts) {
      const std::optional<Error> error = attempt(nth, failures);
      if (error && failures == Failures::kStranger && error->code == ErrorCode::kInternal) {
        ASSERT_EQ(error->message, kStrange) << what;
      } else if (error) {
        ASSERT_EQ(error->code, ErrorCode::kOutOfMemory)
            << what << ", allocation " << nth << ": " << error->to_string();
      }
      if (FailingAllocations::any_failed()) continue;
      ASSERT_FALSE(error) << error->to_string();
      ASSERT_GT(nth, 1) << what << " allocates nothing";
      break;
    }
  }
}

template <class T>
std::optional<Error> error_of(Result<T> result) {
  return result ? std::nullopt : std::optional(std::move(result).error());
}

}  // namespace parallax
