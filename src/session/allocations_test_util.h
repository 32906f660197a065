// Counts the allocations of the test program and makes chosen ones fail: operator new, and what the
// library takes from the system directly. Defined in allocations_test.cc. Thread-safe.
#pragma once

#include <cstdint>

namespace parallax {

/// Calls of operator new so far.
std::int64_t news();

enum class Failures : std::uint8_t { kOne, kAllFromThere };

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

}  // namespace parallax
