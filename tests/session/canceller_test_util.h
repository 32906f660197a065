// For tests of many runs: some of them are cancelled while they run.
#pragma once

#include <chrono>
#include <random>
#include <stop_token>
#include <thread>

namespace parallax {

/// In one of eight cases cancels a run, less than 400 us after it was made.
class Canceller {
 public:
  explicit Canceller(std::minstd_rand& random) {
    if (random() % 8 == 0)
      thread_ = std::thread([stop = stop_, wait = random() % 400]() mutable {
        std::this_thread::sleep_for(std::chrono::microseconds(wait));
        stop.request_stop();
      });
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;
  ~Canceller() { join(); }

  std::stop_token token() const { return stop_.get_token(); }

  /// Whether it cancels, or has; it has then.
  bool join() {
    const bool cancels = thread_.joinable();
    if (cancels) thread_.join();
    return cancels;
  }

 private:
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace parallax
