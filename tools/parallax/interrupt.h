// Ctrl-C as a request to stop and report, for commands that run for long.
#pragma once

namespace parallax::cli {

/// While one of these lives, the first Ctrl-C (SIGINT) only makes interrupted() true; the second
/// ends the process. A SIGINT that was ignored before stays ignored. At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
  /// Any thread may ask.
  static bool interrupted();
};

/// Writes out standard output and ends the process by SIGINT: a shell reports status 130 and ends
/// its loop, which it would not after a plain exit(130).
[[noreturn]] void end_by_interrupt();

}  // namespace parallax::cli
