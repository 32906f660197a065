#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace parallax::cli {
namespace {

constexpr int kInterruptedStatus = 130;  // 128 + SIGINT

std::atomic<bool> seen = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
struct sigaction before;

extern "C" void on_interrupt(int signal) {
  if (!seen.exchange(true)) return;
  constexpr char kClearLine[] = "\r\x1b[K";  // removes a line that a Progress may have drawn
  if (isatty(STDERR_FILENO) != 0) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, kClearLine, sizeof kClearLine - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  seen = false;
  sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before, nullptr); }

bool InterruptGuard::interrupted() { return seen; }

void end_by_interrupt() {
  std::cout.flush();
  std::fflush(stdout);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  std::_Exit(kInterruptedStatus);  // SIGINT is blocked
}

}  // namespace parallax::cli
