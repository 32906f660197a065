// Where messages of the library go. Thread-safe, as a Log of the user's is.
#pragma once

#include <string_view>
#include <utility>

#include "base/lock_order.h"
#include "parallax/runtime.h"

namespace parallax {

/// A Log that may be missing. What it throws is lost.
class Logger {
 public:
  Logger() = default;
  explicit Logger(Log log) : log_(std::move(log)) {}

  void info(std::string_view message) const noexcept { write(LogLevel::kInfo, message); }
  void warn(std::string_view message) const noexcept { write(LogLevel::kWarning, message); }

 private:
  void write(LogLevel level, std::string_view message) const noexcept {
    if (!log_) return;
    expect_unlocked();
    try {
      log_(level, message);
    } catch (...) {  // NOLINT(bugprone-empty-catch): it must not throw; no message is worth an end
    }
  }
  Log log_;
};

}  // namespace parallax
