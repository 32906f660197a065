// What is known of the speed of a delegate's device beside this CPU: timed once, kept in the folder
// of caches, corrected by what runs of regions take. Timings of a busy machine are not kept, and
// what is kept is timed again when it is old.
//
// Thread-safe. Nothing here fails: what cannot be timed, read or written is told to the log, and
// the delegate's description holds.
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

/// Timings that spread by more (Measuring::spread) are of a machine that is busy.
inline constexpr double kMostSpread = 0.25;
/// Rates that were kept for longer are timed again: drivers and clocks change.
inline constexpr std::chrono::days kMostAge{30};

/// When rates are timed, and which of them are kept. Tests have other ones.
struct RateRules {
  std::chrono::nanoseconds limit = kMeasuringTime;
  double most_spread = kMostSpread;
  std::function<std::chrono::sys_seconds()> now = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  };
};

class DelegateRates {
 public:
  /// `file`: empty where nothing is kept. Reads it.
  DelegateRates(std::string key, std::filesystem::path file, int threads, const Logger& log,
                RateRules rules = {});

  /// Times what is not known of these kinds, within the limit and `memory`; others wait. Forgets
  /// what is old. Kinds that find no memory are tried again by a later call.
  void measure(const std::shared_ptr<const OpenDelegate>& delegate, const std::set<WorkKind>& kinds,
               const ProbeMemory& memory = {});
  /// With what runs took so far.
  Calibration known() const;
  /// Where runs of a region note what they take: the same for all of one key.
  std::shared_ptr<RegionTimes> times(std::uint64_t region, const std::string& node,
                                     double predicted);
  /// Where runs of a graph that is split note what they take: the same for all of one key and
  /// share.
  std::shared_ptr<RegionTimes> split_times(std::uint64_t key, int share);
  /// There is no such split to time.
  void refuse_split(std::uint64_t key, int share);
  /// For tests: as if that had been timed.
  void assume(Calibration calibration);
  /// Writes the file where something is new.
  void save();

 private:
  /// Regions that are kept, the ones that were planned last.
  static constexpr std::size_t kMostRegions = 1024, kMostSplits = 256;
  /// All, where the first of it was timed too long ago.
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
  std::chrono::sys_seconds since_ PX_GUARDED_BY(mutex_);  ///< when calibration_ began
  /// Timed while the machine was busy: used, and not kept.
  Calibration passing_ PX_GUARDED_BY(mutex_);
  std::set<WorkKind> tried_ PX_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<RegionTimes>> times_ PX_GUARDED_BY(mutex_);
  const std::shared_ptr<std::atomic<int>> running_splits_ = std::make_shared<std::atomic<int>>(0);
  std::map<std::pair<std::uint64_t, int>, std::shared_ptr<RegionTimes>> split_times_
      PX_GUARDED_BY(mutex_);  // by key and share
};

/// The rates of a runtime's delegates. Thread-safe.
class RateStore {
 public:
  RateStore(std::filesystem::path folder, const Logger& log)
      : folder_(std::move(folder)), log_(log) {}
  /// For tests: of all rates that are asked for from now on.
  void set_rules(RateRules rules);
  /// Of that delegate's device beside `threads` threads of this CPU.
  std::shared_ptr<DelegateRates> of(const OpenDelegate& delegate, int threads);

 private:
  const std::filesystem::path folder_;
  const Logger log_;
  Mutex mutex_;
  RateRules rules_ PX_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<DelegateRates>> rates_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
