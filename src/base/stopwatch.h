// Measures elapsed wall-clock time with a monotonic clock. Thread-safety: a plain value. The clock
// does not jump if the time of the system is set.
#pragma once

#include <chrono>
#include <utility>

namespace parallax {

/// Starts when it is constructed. Copies run independently from the same start.
class Stopwatch {
 public:
  /// Returns the milliseconds since the last call, or since construction, and restarts.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace parallax
