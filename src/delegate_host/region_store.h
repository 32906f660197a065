// The regions that a session has compiled for a delegate, and those that were refused: bindings
// share compiled regions, and a region that failed is run by the CPU until the failures are
// cleared. A compiled region lives as long as a plan that uses it.
//
// Thread-safe. Compiling and binding one region is serialized.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "delegate_host/c_region.h"
#include "delegate_host/device_ledger.h"
#include "delegate_host/open_delegate.h"
#include "delegate_host/refusal.h"

namespace parallax {

/// A region as compiled by the delegate. Discarded with the last plan or run that uses it.
struct CompiledRegion {
  CompiledRegion(std::shared_ptr<const OpenDelegate> delegate_in,
                 std::shared_ptr<const CRegion> region_in)
      : delegate(std::move(delegate_in)), region(std::move(region_in)) {}
  /// Discards the region, unless this is a child of fork(), which must not call the delegate.
  ~CompiledRegion();
  CompiledRegion(const CompiledRegion&) = delete;
  CompiledRegion& operator=(const CompiledRegion&) = delete;

  const std::shared_ptr<const OpenDelegate> delegate;  ///< keeps the delegate open
  const std::shared_ptr<const CRegion> region;  ///< region of the first binding that compiled it
  void* handle = nullptr;                       ///< px_compiled::region
  DeviceCharge charge;                          ///< bytes of its constants
  Mutex one_call{LockOrder::kCalling};          ///< serializes the delegate's calls about it
};
/// Shared by the plans that use them.
using CompiledRegions = std::vector<std::shared_ptr<CompiledRegion>>;

/// The reason why the CPU runs a region, for reports.
struct RegionRefusal {
  std::string node;  ///< the region's first node
  std::string why;   ///< includes the scope, unless that is all runs
  Refusal kind = Refusal::kRegion;
};

/// The refusals of a region, and its compiled form while a plan uses it.
class RegionState {
 public:
  explicit RegionState(std::string name_in) : name(std::move(name_in)) {}
  const std::string name;  ///< name of its first node
  /// Returns the reason why the CPU runs it with any sizes; nullopt: the delegate runs it. One
  /// atomic load if there is no reason.
  std::optional<Error> problem() const;
  /// Records a refusal of kRegion.
  void fail(Error error) { refuse(Refusal::kRegion, std::move(error)); }
  /// Records a refusal. The first of each kind is kept for reports until forget(); problem()
  /// returns that of kRegion or kDevice.
  void refuse(Refusal kind, Error error);
  /// Returns true on the first call with this kind since forget(): the refusal is worth a warning.
  bool mark_reported(Refusal kind) noexcept;
  /// Returns the refusals, one for each kind, for reports.
  std::vector<RegionRefusal> refusals() const;
  /// Clears all refusals, so that the delegate is tried again.
  void forget();

 private:
  friend class RegionStore;
  /// Returns whether it has neither refusals nor a compiled form. REQUIRES: no thread is compiling
  /// it.
  bool is_unused() const;

  std::atomic<bool> failed_{false};  ///< fast path of problem(): a refusal of kRegion or kDevice
  std::atomic<unsigned> told_{0};    // a bit for each Refusal
  mutable Mutex compiling_ PX_ACQUIRED_BEFORE(errors_mutex_){LockOrder::kCompiling};
  std::weak_ptr<CompiledRegion> compiled_ PX_GUARDED_BY(compiling_);  ///< does not keep the region
                                                                      ///< alive
  mutable Mutex errors_mutex_;
  std::array<std::optional<Error>, kRefusals> errors_ PX_GUARDED_BY(errors_mutex_);
};

/// The states of regions, found by CRegion::key(). A session has one for each of its delegates.
class RegionStore {
 public:
  /// The result of get().
  struct Entry {
    std::shared_ptr<RegionState> state;        ///< never null
    std::shared_ptr<CompiledRegion> compiled;  ///< null: it was refused, see state->problem()
  };
  /// Returns the region, and compiles it unless that was done before; concurrent calls for one
  /// region wait. Failures are recorded in its state: errors of `region`, of the delegate, and of
  /// `ledger` if constants do not fit (null: not counted). `name`: the region's first node. Calls
  /// the delegate. REQUIRES: the thread holds no locks but turns.
  Entry get(const std::shared_ptr<const OpenDelegate>& delegate,
            const std::shared_ptr<DeviceLedger>& ledger,
            const Result<std::shared_ptr<const CRegion>>& region, const std::string& name);

  /// Keeps `regions`, those of the plan that was prepared last, in place of the previous ones: the
  /// next plan may share them even if this one is evicted first. Removes the states of regions that
  /// no plan uses, unless they have errors.
  void keep_latest(CompiledRegions regions);

  /// Records that the device does not answer: no region is retried and no other one is compiled.
  void fail_all(const Error& error);
  /// Returns the error that fail_all() received; nullopt: the device answers.
  std::optional<Error> lost() const;
  /// Clears all failures, and increments the generation: plans that were prepared before prepare
  /// their regions again.
  void forget_failures();
  /// Returns the number of forget_failures() calls.
  int generation() const { return generation_.load(); }
  /// Returns the refusals of all regions.
  std::vector<RegionRefusal> refusals() const;

 private:
  mutable Mutex mutex_{LockOrder::kRegions};  ///< held for look-ups only, never while the delegate
                                              ///< is called
  std::map<std::string, std::shared_ptr<RegionState>, std::less<>> states_ PX_GUARDED_BY(mutex_);
  CompiledRegions latest_ PX_GUARDED_BY(mutex_);  ///< regions of the plan that was prepared last
  std::optional<Error> lost_ PX_GUARDED_BY(mutex_);
  std::atomic<int> generation_{0};  ///< number of forget_failures() calls
};

}  // namespace parallax
