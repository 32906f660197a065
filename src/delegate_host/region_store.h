// The regions that a session has compiled for a delegate, and those that were refused: what a
// binding needs of them is shared with other bindings, and a region that failed is left to the CPU
// until the store is told to forget. A compiled region lives as long as a plan that uses it.
//
// Thread-safe. Compiling and binding of one region go one after the other.
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

/// A region as the delegate has compiled it. Discarded with the last plan or run that uses it.
struct CompiledRegion {
  CompiledRegion(std::shared_ptr<const OpenDelegate> delegate_in,
                 std::shared_ptr<const CRegion> region_in)
      : delegate(std::move(delegate_in)), region(std::move(region_in)) {}
  ~CompiledRegion();
  CompiledRegion(const CompiledRegion&) = delete;
  CompiledRegion& operator=(const CompiledRegion&) = delete;

  const std::shared_ptr<const OpenDelegate> delegate;
  const std::shared_ptr<const CRegion> region;  ///< of the binding that was first
  void* handle = nullptr;
  DeviceCharge charge;                  ///< of its constants
  Mutex one_call{LockOrder::kCalling};  ///< that the delegate gets about it
};
using CompiledRegions = std::vector<std::shared_ptr<CompiledRegion>>;

/// Why the CPU runs a region.
struct RegionRefusal {
  std::string node;  ///< the first of the region
  std::string why;   ///< with its scope, if that is not all runs
  Refusal kind = Refusal::kRegion;
};

/// What has become of a region.
class RegionState {
 public:
  explicit RegionState(std::string name_in) : name(std::move(name_in)) {}
  const std::string name;  ///< of its first node
  /// Why the CPU runs it whatever the sizes are; nullopt: the delegate does.
  std::optional<Error> problem() const;
  /// Notes a refusal of kRegion.
  void fail(Error error) { refuse(Refusal::kRegion, std::move(error)); }
  /// Notes a refusal. The first of each kind is kept for reports until forget(); problem() returns
  /// that of kRegion or kDevice.
  void refuse(Refusal kind, Error error);
  /// True for the first call with this kind since forget(): the refusal is worth a warning.
  bool tell(Refusal kind) noexcept;
  /// For reports, one for each kind of refusal.
  std::vector<RegionRefusal> refusals() const;
  void forget();

 private:
  friend class RegionStore;
  /// REQUIRES: nothing compiles it.
  bool is_unused() const;

  std::atomic<bool> failed_{false};
  std::atomic<unsigned> told_{0};  // a bit for each Refusal
  mutable Mutex compiling_ PX_ACQUIRED_BEFORE(errors_mutex_){LockOrder::kCompiling};
  std::weak_ptr<CompiledRegion> compiled_ PX_GUARDED_BY(compiling_);
  mutable Mutex errors_mutex_;
  std::array<std::optional<Error>, kRefusals> errors_ PX_GUARDED_BY(errors_mutex_);
};

class RegionStore {
 public:
  struct Entry {
    std::shared_ptr<RegionState> state;
    std::shared_ptr<CompiledRegion> compiled;  ///< null: it has failed
  };
  /// The region, compiled now unless it was before. A failure is noted in its state, also where its
  /// constants do not fit `ledger` (null: nothing is counted).
  Entry get(const std::shared_ptr<const OpenDelegate>& delegate,
            const std::shared_ptr<DeviceLedger>& ledger,
            const Result<std::shared_ptr<const CRegion>>& region, const std::string& name);

  /// Keeps `regions`, those of the plan that was prepared last, in place of those before: the next
  /// plan may share them though this one is evicted first. Removes the states of regions that no
  /// plan uses, but for errors.
  void keep_latest(CompiledRegions regions);

  /// The device does not answer: no region is tried again, nor are others compiled.
  void fail_all(const Error& error);
  /// The error that fail_all() got; nullopt: the device answers.
  std::optional<Error> lost() const;
  /// All may be tried again: by plans whose generation is older.
  void forget_failures();
  int generation() const { return generation_.load(); }
  /// Those of all regions.
  std::vector<RegionRefusal> refusals() const;

 private:
  mutable Mutex mutex_{LockOrder::kRegions};
  std::map<std::string, std::shared_ptr<RegionState>, std::less<>> states_ PX_GUARDED_BY(mutex_);
  CompiledRegions latest_ PX_GUARDED_BY(mutex_);
  std::optional<Error> lost_ PX_GUARDED_BY(mutex_);
  std::atomic<int> generation_{0};
};

}  // namespace parallax
