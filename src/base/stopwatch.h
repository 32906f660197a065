// Time that passes. Thread-safety: a plain value.
#pragma once

#include <chrono>
#include <utility>

namespace parallax {

class Stopwatch {
 public:
  /// Milliseconds since the last call, or since it was made.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace parallax
