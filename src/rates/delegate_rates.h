// The speed of a delegate's device relative to this CPU: measured once, stored in the folder of
// caches, corrected by the times of regions in runs. Measurements on a busy machine are not stored,
// and stored ones are repeated when they are old.
// Thread-safe. Nothing here fails: problems with measuring, reading or writing go to the log, and
// the delegate's description applies.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "delegate_host/open_delegate.h"
#include "delegate_host/region_times.h"
#include "device/calibration.h"
#include "rates/measure.h"

namespace parallax {

/// Measurements with a larger spread (Measuring::spread) come from a busy machine.
inline constexpr double kMaxSpread = 0.25;
/// Rates that are older than this are measured again: drivers and clocks change.
inline constexpr std::chrono::days kMaxAge{30};

/// The rules for measuring and storing rates. Tests use other ones. `now` is the system's clock: it
/// is stored in files, so that other processes can compare it.
struct RateRules {
  std::chrono::nanoseconds limit = kMeasuringTime;  ///< time limit of one call of measure()
  double most_spread = kMaxSpread;  ///< measurements with a larger spread are not stored
  std::function<std::chrono::sys_seconds()> now = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  };
};

/// The rates of one device, shared by the sessions of a runtime.
class DelegateRates {
 public:
  /// Reads the stored rates from `file`; empty: nothing is stored. `key`: identifies device and CPU
  /// in the file. `threads`: the CPU threads of runs.
  DelegateRates(std::string key, std::filesystem::path file, int threads, const Logger& log,
                RateRules rules = {});

  /// Measures the kinds that are not known, within the time limit and `memory`; blocks while
  /// another thread measures. Discards old measurements. Kinds for which memory was short are tried
  /// again by a later call. Calls the delegate. The calling thread holds no lock other than turns.
  /// Results are saved before it returns, unless the machine was busy.
  void measure(const std::shared_ptr<const OpenDelegate>& delegate, const std::set<WorkKind>& kinds,
               const ProbeMemory& memory = {});
  /// Returns the measurements, including times of runs so far. A copy; medians of runs that differ
  /// by 5 % or more from the stored time replace it.
  Calibration known() const;
  /// Returns the record that receives the times of a region's runs; one per key. `predicted`:
  /// seconds.
  std::shared_ptr<RegionTimes> times(std::uint64_t region, const std::string& node,
                                     double predicted);
  /// Returns the record that receives the times of whole runs of a split graph; one per key and
  /// share.
  std::shared_ptr<RegionTimes> split_times(std::uint64_t key, int share);
  /// Records that such a split is impossible, so that it is not tried.
  void refuse_split(std::uint64_t key, int share);
  /// For tests: behaves as if `calibration` had been measured.
  void assume(Calibration calibration);
  /// Writes the file if there are new measurements. Failures go to the log.
  void save();

 private:
  /// Limits for stored regions and splits; the most recently planned ones are kept.
  static constexpr std::size_t kMaxRegions = 1024, kMaxSplits = 256;
  /// Discards all measurements if the first one is too old.
  void forget_old() PX_REQUIRES(mutex_);
  void learn() const PX_REQUIRES(mutex_);
  void learn_split(const SplitSample& sample) const PX_REQUIRES(mutex_);

  const std::string key_;
  const std::filesystem::path file_;
  const int threads_;
  const Logger log_;
  const RateRules rules_;
  const std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
  // One thread measures, others wait.
  Mutex measuring_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kMeasuring};
  mutable Mutex mutex_;
  mutable Calibration calibration_ PX_GUARDED_BY(mutex_);
  mutable bool changed_ PX_GUARDED_BY(mutex_) = false;
  std::chrono::sys_seconds since_ PX_GUARDED_BY(mutex_);  ///< time of the first measurement in
                                                          ///< calibration_
  /// Measured while the machine was busy: used, but not stored.
  Calibration passing_ PX_GUARDED_BY(mutex_);
  std::set<WorkKind> tried_ PX_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<RegionTimes>> times_ PX_GUARDED_BY(mutex_);
  const std::shared_ptr<std::atomic<int>> running_splits_ = std::make_shared<std::atomic<int>>(0);
  std::map<std::pair<std::uint64_t, int>, std::shared_ptr<RegionTimes>> split_times_
      PX_GUARDED_BY(mutex_);  // indexed by key and share
};

/// The rates of a runtime's delegates. Thread-safe. An empty folder stores nothing.
class RateStore {
 public:
  RateStore(std::filesystem::path folder, const Logger& log)
      : folder_(std::move(folder)), log_(log) {}
  /// For tests: sets the rules for all rates that are created later.
  void set_rules(RateRules rules);
  /// Returns the rates of the delegate's device relative to `threads` threads of this CPU; created
  /// once per device and thread count.
  std::shared_ptr<DelegateRates> of(const OpenDelegate& delegate, int threads);

 private:
  const std::filesystem::path folder_;
  const Logger log_;
  Mutex mutex_;
  RateRules rules_ PX_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<DelegateRates>> rates_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
