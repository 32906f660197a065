// Records the times that the last runs of a region needed on its device, copies included.
// Thread-safe, without locks: a run writes one number and reads none.
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

/// A ring of the last times.
class RegionTimes {
 public:
  static constexpr std::uint32_t kKept = 8;    ///< the median covers up to this many runs
  static constexpr std::uint32_t kEnough = 3;  ///< runs before there is a median

  /// `running`: the number of the device's regions that run now, shared by all of its RegionTimes.
  /// `predicted_in`: seconds.
  RegionTimes(std::uint64_t key_in, std::string node_in, double predicted_in,
              std::shared_ptr<std::atomic<int>> running)
      : key(key_in),
        node(std::move(node_in)),
        predicted(predicted_in),
        running_(std::move(running)) {}

  /// Notes the start of a run. Returns true if the device is otherwise idle, so that the time is
  /// representative. end() must follow.
  bool begin() noexcept { return running_->fetch_add(1, std::memory_order_relaxed) == 0; }
  /// Notes the end of a run, successful or not.
  void end() noexcept { running_->fetch_sub(1, std::memory_order_relaxed); }
  /// Records a time in seconds.
  void add(double seconds) noexcept {
    const std::uint32_t at = count_.fetch_add(1, std::memory_order_relaxed);
    seconds_[at % kKept].store(static_cast<float>(seconds), std::memory_order_release);
  }
  /// Returns the median of the last runs in seconds; nullopt before kEnough runs. An even number of
  /// times gives the lower of the middle two. Times that are not positive are left out. Allocates.
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

  const std::uint64_t key;  ///< identifies the region in stored times
  const std::string node;   ///< the region's first node
  const double predicted;   ///< seconds, predicted by the rates alone

 private:
  const std::shared_ptr<std::atomic<int>> running_;  ///< runs in progress on the device, of all
                                                     ///< regions
  std::array<std::atomic<float>, kKept> seconds_{};  ///< a ring, indexed by count_ modulo kKept
  std::atomic<std::uint32_t> count_{0};              ///< number of times recorded so far
};

/// Records the time from here to succeeded(), if no other region ran at the start. `times` may be
/// null: not recorded.
class TimedScope {
 public:
  /// Starts the time, and notes the start of the run.
  explicit TimedScope(std::shared_ptr<RegionTimes> times)
      : times_(std::move(times)), alone_(times_ != nullptr && times_->begin()) {}
  /// Notes the end of the run.
  ~TimedScope() {
    if (times_ != nullptr) times_->end();
  }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;
  /// Records the time. Not called: the work failed and its time is ignored. REQUIRES: called at
  /// most once.
  void succeeded() noexcept {
    if (alone_) times_->add(watch_.lap() * 1e-3);
  }

 private:
  const std::shared_ptr<RegionTimes> times_;
  const bool alone_;  ///< whether the device was otherwise idle at the start
  Stopwatch watch_;
};

/// A graph whose rows are divided between CPU and device (partition/split/co_execution.h), and the
/// times of its runs.
struct TimedSplit {
  int share = 0;                         ///< share of the device, in 1 / kShares
  std::shared_ptr<RegionTimes> seconds;  ///< times of whole runs; null: not split
};

}  // namespace parallax
