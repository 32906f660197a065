// Places for the runs that go on in a pool at once. A run that finds none waits; who came first is
// served first. A run also gets the workers that may help it: a row of them, so that a number in
// that row tells its threads apart, and the row that fewest other runs have.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {

/// The workers `first` to `first` + `width` - 2, which with the caller are `width` threads. Workers
/// count from 1; 0 is no worker.
struct WorkerRow {
  std::uint32_t first = 1, width = 1;

  bool has(int worker) const { return static_cast<std::uint32_t>(worker) - first < width - 1; }
  /// 0 for the caller, 1 to width - 1 for the workers of the row.
  int seat(int worker) const { return worker == 0 ? 0 : worker - static_cast<int>(first) + 1; }
};

class RunPlaces {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Place {
    std::size_t index = kNone;  ///< kNone: there was none
    WorkerRow row;
  };

  /// `workers`: the most that there will be.
  RunPlaces(std::size_t places, int workers);

  std::size_t count() const { return count_; }
  /// A place for a run of `width` threads while there are `workers`. Where all are taken it waits
  /// until `deadline`, without one for ever.
  Place wait_for(int width, int workers, const Deadline& deadline);
  /// The same without waiting, for who can do without a place.
  Place take_free(int width, int workers);
  void leave(const Place& place);

  /// No run has a place from this one on.
  std::size_t end() const { return end_.load(); }
  /// For tests: runs that wait.
  std::size_t waiting() const;

 private:
  bool is_free() const PX_REQUIRES(mutex_);
  Place take(int width, int workers) PX_REQUIRES(mutex_);
  std::uint32_t least_busy(std::uint32_t row, std::uint32_t workers) const PX_REQUIRES(mutex_);
  void find_end() PX_REQUIRES(mutex_);

  const std::size_t count_;
  std::atomic<std::size_t> end_{0};
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<bool> taken_ PX_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> runs_of_ PX_GUARDED_BY(mutex_);  // by worker, less 1
  // Who waits, in order of arrival, each by an address of its own.
  std::vector<const void*> waiting_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
