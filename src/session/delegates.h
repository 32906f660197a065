// The delegates of a runtime: built-in ones and those of shared objects, each opened once for each
// text that names it. Also the delegates of one session. Internal to session/.
//
// Thread-safe.
//
// Its mutex is held while libraries are loaded and delegates are opened, so foreign code runs under
// it; after that, delegates are called without it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "delegate_host/delegate_device.h"
#include "delegate_host/open_delegate.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "planning/plan_pin.h"
#include "rates/delegate_rates.h"

namespace parallax {

/// Returns the tables of the delegates that this build contains. They have static lifetime.
std::vector<const px_delegate*> built_in_delegates();

/// All delegates that sessions of a runtime may name. Thread-safe.
class Delegates {
 public:
  /// Loads nothing yet. `cache_folder`: px_open_options::cache_folder; empty for null.
  Delegates(std::vector<std::filesystem::path> libraries, std::string cache_folder,
            const Logger& log)
      : libraries_(std::move(libraries)), cache_folder_(std::move(cache_folder)), log_(log) {}

  /// Opens the delegate of `spec`, "NAME" or "NAME:TEXT"; the first call loads the libraries, later
  /// ones with the same `spec` return the same device. Other threads wait meanwhile. Errors:
  /// kInvalidInput if no delegate or more than one has that name; the error of a library that did
  /// not load, if no other has it; the error of the delegate. In a child of fork() a delegate that
  /// its parent opened is opened again. A failure is not remembered: the next call tries again.
  /// Libraries that failed to load are not loaded again. Stage kPartition for an unknown or
  /// ambiguous name.
  Result<std::shared_ptr<const OpenDelegate>> open(const std::string& spec);
  /// Opens all delegates without a text, and describes each, also those that fail. Failures are in
  /// DelegateReport::problem. Opened delegates stay open.
  std::vector<DelegateReport> list();
  /// Adds another built-in delegate; for tests. `table` must outlive this object and every session
  /// that uses it.
  void add(const px_delegate* table);

 private:
  struct Known {
    std::string name;  ///< the delegate's name; for a file that did not load the file's name
    std::string file;  ///< path of the library; empty: built in
    Result<DelegateTable> table;
  };
  /// Returns all delegates; the first call loads the libraries.
  const std::vector<Known>& known() PX_REQUIRES(mutex_);
  Result<std::shared_ptr<const OpenDelegate>> open_locked(const std::string& spec)
      PX_REQUIRES(mutex_);

  const std::vector<std::filesystem::path> libraries_;
  const std::string cache_folder_;
  const Logger log_;
  Mutex mutex_{LockOrder::kOpening};
  std::optional<std::vector<Known>> known_ PX_GUARDED_BY(mutex_);
  /// The open devices by spec; those of the parent are replaced in a child of fork().
  std::map<std::string, std::shared_ptr<const OpenDelegate>, std::less<>> opened_
      PX_GUARDED_BY(mutex_);
};

/// Describes an open delegate and its device. Counts of a session stay empty: held and peak bytes,
/// failures and returned regions.
DelegateReport report_of(const OpenDelegate& opened);

/// The regions that a session has planned for one delegate, by region_key(), and those that it
/// moved elsewhere because they were slow. Thread-safe.
class PlacedRegions {
 public:
  /// Records the node names of a region; beyond 1,024 regions an arbitrary record is evicted.
  void add(std::uint64_t key, std::vector<std::string> names);
  /// Returns the node names of a region; empty if no region with that key is recorded.
  std::vector<std::string> names(std::uint64_t key) const;
  /// Records a region that was moved to the CPU or to another delegate because it ran slower than
  /// predicted; replaces the record of a region with the same first node.
  void give_back(DelegateReport::Failure region);
  /// Returns the regions of give_back(), the latest last.
  std::vector<DelegateReport::Failure> returned() const;

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::vector<std::string>> names_ PX_GUARDED_BY(mutex_);
  std::vector<DelegateReport::Failure> returned_ PX_GUARDED_BY(mutex_);
};

/// A delegate that a session's options name.
struct SessionDelegate {
  std::string spec;  ///< "NAME" or "NAME:TEXT", as in the options
  /// Why it did not open; empty: it is open. The text of the error, for reports.
  std::string problem;
  DelegateUse use;  ///< `opened` is null if it did not open
  /// Null: its own description is used. Set by Session::Impl if the options ask for measured rates
  /// and the delegate is open.
  std::shared_ptr<DelegateRates> rates = nullptr;
  /// Null: plans may change. Set only for the first delegate, which is then the only one.
  std::shared_ptr<PlanPin> pin = nullptr;
  /// Never null; shared with the plans that use the delegate.
  std::shared_ptr<PlacedRegions> placed = std::make_shared<PlacedRegions>();
};
using SessionDelegates = std::vector<SessionDelegate>;
/// Opens the delegates that the options name, in that order; logs a warning for each that does not
/// open. Errors: kInvalidInput for one that is named twice; the error of one that does not open, if
/// the options require full delegation. One element per name in the options. May load libraries and
/// open devices on this thread.
Result<SessionDelegates> delegates_for(const SessionOptions& options, Delegates& delegates,
                                       const Logger& log);

}  // namespace parallax
