// The regions that a session has compiled for a delegate, and those that have failed: what a
// binding needs of them is shared with other bindings, and a region that failed is left to the CPU
// until the store is told to forget. A compiled region lives as long as a plan that uses it.
//
// Thread-safe. Compiling and binding of one region go one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "delegate/c_region.h"
#include "delegate/device_ledger.h"
#include "delegate/open_delegate.h"

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
  DeviceCharge charge;  ///< of its constants
  Mutex one_call;       ///< that the delegate gets about it
};
using CompiledRegions = std::vector<std::shared_ptr<CompiledRegion>>;

/// What has become of a region.
class RegionState {
 public:
  explicit RegionState(std::string name_in) : name(std::move(name_in)) {}
  const std::string name;  ///< of its first node
  /// Why the CPU runs it; nothing: the delegate does.
  std::optional<Error> problem() const;
  void fail(Error error);
  void forget();

 private:
  friend class RegionStore;
  /// REQUIRES: nothing compiles it.
  bool is_unused() const;

  std::atomic<bool> failed_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
  std::weak_ptr<CompiledRegion> compiled_ PX_GUARDED_BY(mutex_);
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

  /// None is tried again: the device does not answer.
  void fail_all(const Error& error);
  /// Failed ones may be tried again: by plans whose generation is older.
  void forget_failures();
  int generation() const { return generation_.load(); }
  /// Those that have failed: name of the first node, and why.
  std::vector<std::pair<std::string, std::string>> failures() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<RegionState>, std::less<>> states_ PX_GUARDED_BY(mutex_);
  CompiledRegions latest_ PX_GUARDED_BY(mutex_);
  std::atomic<int> generation_{0};
};

}  // namespace parallax
