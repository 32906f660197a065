// Access to the log that the user provides. Thread-safe if the log is.
//
// A runtime makes a Logger from RuntimeOptions::log. Delegates, their rates and caches of weights
// hold copies of it; sessions, and functions that take a Logger, use the runtime's. A device that
// is prepared for a probe gets an empty one. The library prints no message by itself.
#pragma once

#include <string_view>
#include <utility>

#include "base/lock_order.h"
#include "parallax/runtime.h"

namespace parallax {

/// Passes messages to the user's log. Drops them if there is no log, or if it throws. Each copy
/// calls its own copy of the log. Calls come from any thread, possibly several concurrently.
class Logger {
 public:
  Logger() = default;
  /// Writes to `log`, which is copied; an empty function drops messages.
  explicit Logger(Log log) : log_(std::move(log)) {}

  /// Write a message, which need not outlive the call. REQUIRES, as the log is foreign code: the
  /// calling thread holds no lock but turns, under which slow work is done (base/lock_order.h);
  /// builds with assertions check it if there is a log. An info tells what the library does, a
  /// warning what it could not do as asked.
  void info(std::string_view message) const noexcept { write(LogLevel::kInfo, message); }
  void warn(std::string_view message) const noexcept { write(LogLevel::kWarning, message); }

 private:
  /// Calls the log, if there is one, and discards its exceptions.
  void write(LogLevel level, std::string_view message) const noexcept {
    if (!log_) return;
    expect_only_turns();
    try {
      log_(level, message);
    } catch (...) {  // NOLINT(bugprone-empty-catch): a log must not throw, and a lost message is no
                     // reason to stop
    }
  }
  Log log_;
};

}  // namespace parallax
