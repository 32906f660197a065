// How long the last runs of a region took on its device, copies included.
//
// Thread-safe, without locks: a run writes a number and reads none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"

namespace parallax {

class RegionTimes {
 public:
  static constexpr std::uint32_t kKept = 8;    ///< runs that the median is of
  static constexpr std::uint32_t kEnough = 3;  ///< runs before there is one

  /// `running`: regions of the device that run now, shared by all of its RegionTimes.
  RegionTimes(std::uint64_t key_in, std::string node_in, double predicted_in,
              std::shared_ptr<std::atomic<int>> running)
      : key(key_in),
        node(std::move(node_in)),
        predicted(predicted_in),
        running_(std::move(running)) {}

  /// A run begins; true where the device has nothing else to do, so that its time is worth keeping.
  bool begin() noexcept { return running_->fetch_add(1, std::memory_order_relaxed) == 0; }
  void end() noexcept { running_->fetch_sub(1, std::memory_order_relaxed); }
  void add(double seconds) noexcept {
    const std::uint32_t at = count_.fetch_add(1, std::memory_order_relaxed);
    seconds_[at % kKept].store(static_cast<float>(seconds), std::memory_order_release);
  }
  /// Of the last runs; nothing of too few.
  std::optional<double> median() const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    if (count < kEnough) return std::nullopt;
    std::vector<float> kept;
    for (std::uint32_t i = 0; i < std::min(count, kKept); ++i)
      if (const float s = seconds_[i].load(std::memory_order_acquire); s > 0) kept.push_back(s);
    if (kept.empty()) return std::nullopt;
    const auto half = kept.begin() + static_cast<std::ptrdiff_t>((kept.size() - 1) / 2);
    std::nth_element(kept.begin(), half, kept.end());
    return static_cast<double>(*half);
  }

  const std::uint64_t key;
  const std::string node;  ///< the first of the region
  const double predicted;  ///< by the rates alone

 private:
  const std::shared_ptr<std::atomic<int>> running_;
  std::array<std::atomic<float>, kKept> seconds_{};
  std::atomic<std::uint32_t> count_{0};
};

/// Notes what a piece of work takes from here to the end of the scope, if nothing else ran when it
/// began and succeeded() was called. `times` may be null: nobody asks.
class TimedScope {
 public:
  explicit TimedScope(std::shared_ptr<RegionTimes> times)
      : times_(std::move(times)), alone_(times_ != nullptr && times_->begin()) {}
  ~TimedScope() {
    if (times_ != nullptr) times_->end();
  }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;
  void succeeded() noexcept {
    if (alone_) times_->add(watch_.lap() * 1e-3);
  }

 private:
  const std::shared_ptr<RegionTimes> times_;
  const bool alone_;
  Stopwatch watch_;
};

/// A graph whose rows are shared by CPU and device (partition/split/co_execution.h), and how long
/// its runs take.
struct TimedSplit {
  int share = 0;                         ///< of the device, in 1 / kShares
  std::shared_ptr<RegionTimes> seconds;  ///< of whole runs; null: it is not split
};

}  // namespace parallax
