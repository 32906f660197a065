// The delegates of a runtime: built-in ones and those of shared objects, each opened once for each
// text that names it; and what one session has of them. Internal to session/.
//
// Thread-safe.
#pragma once

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

/// Tables that this build has.
std::vector<const px_delegate*> built_in_delegates();

class Delegates {
 public:
  Delegates(std::vector<std::string> libraries, std::string cache_folder, const Logger& log)
      : libraries_(std::move(libraries)), cache_folder_(std::move(cache_folder)), log_(log) {}

  /// `spec`: "NAME" or "NAME:TEXT". Errors: kInvalidInput where there is none of that name, or two
  /// have it; of a library that does not load, where none has it; of the delegate.
  Result<std::shared_ptr<const OpenDelegate>> open(const std::string& spec);
  /// All, opened without a text.
  std::vector<DelegateReport> list();
  /// For tests: a further built-in one.
  void add(const px_delegate* table);

 private:
  struct Known {
    std::string name;  ///< of a file that did not load: that of the file
    std::string file;  ///< empty: built in
    Result<DelegateTable> table;
  };
  const std::vector<Known>& known() PX_REQUIRES(mutex_);
  Result<std::shared_ptr<const OpenDelegate>> open_locked(const std::string& spec)
      PX_REQUIRES(mutex_);

  const std::vector<std::string> libraries_;
  const std::string cache_folder_;
  const Logger log_;
  Mutex mutex_{LockOrder::kOpening};
  std::optional<std::vector<Known>> known_ PX_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const OpenDelegate>, std::less<>> opened_
      PX_GUARDED_BY(mutex_);
};

/// What is known of an open delegate.
DelegateReport report_of(const OpenDelegate& opened);

/// The regions that a session has planned, and those that it gave back. Thread-safe.
class PlacedRegions {
 public:
  void add(std::uint64_t key, std::vector<std::string> names);
  /// Of a region that was added; empty: there is none of that key.
  std::vector<std::string> names(std::uint64_t key) const;
  void give_back(DelegateReport::Failure region);
  std::vector<DelegateReport::Failure> returned() const;

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::vector<std::string>> names_ PX_GUARDED_BY(mutex_);
  std::vector<DelegateReport::Failure> returned_ PX_GUARDED_BY(mutex_);
};

/// What a session has of a delegate that its options name.
struct SessionDelegate {
  std::string spec;
  std::string problem;                             ///< why it did not open
  DelegateUse use;                                 ///< `opened` is null where it did not
  std::shared_ptr<DelegateRates> rates = nullptr;  ///< null: what it says of itself holds
  std::shared_ptr<PlanPin> pin = nullptr;          ///< null: plans may change
  std::shared_ptr<PlacedRegions> placed = std::make_shared<PlacedRegions>();
};
using SessionDelegates = std::vector<SessionDelegate>;
/// In the order of the options. Errors: kInvalidInput for one that is named twice; why one did not
/// open, where the options require full delegation.
Result<SessionDelegates> delegates_for(const SessionOptions& options, Delegates& delegates,
                                       const Logger& log);

}  // namespace parallax
