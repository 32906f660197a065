#include "crash.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace parallax::conformance {
namespace {

/// A line without its end, always with a 0 behind it: a signal may come at any time.
std::array<char, 256> what_is_running{};

void say(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void say_where(int) {
  say("parallax-delegate-conformance: the delegate crashed: ");
  say(what_is_running.data());
  say("\n");
  ::_exit(1);
}

}  // namespace

void catch_crashes() {
  struct sigaction action {};
  action.sa_handler = say_where;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    (void)::sigaction(signal, &action, nullptr);
}

void now(std::string_view what) {
  const std::size_t length = std::min(what.size(), what_is_running.size() - 1);
  what_is_running[length] = '\0';
  std::copy_n(what.data(), length, what_is_running.data());
}

}  // namespace parallax::conformance
