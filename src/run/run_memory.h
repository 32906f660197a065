// The memory of runs: one block per run in progress, kept for the next run, and the account of all
// bytes that the sessions sharing it hold for activations and scratch.
//
// The account makes the budget a guarantee: bytes are reserved before they are allocated. A run
// whose block does not fit beside those of other runs waits until one of them ends. Under a limit,
// a run that allocates while running (data-dependent sizes) runs alone. Only runs that hold nothing
// wait, in the order in which they came: so no run waits for one that waits itself, and small runs
// do not overtake a large one for ever. A limit that follows free memory is read again when the
// wait may be over.
//
// A run whose device may fall silent also reserves a spare: the bytes that it needs to begin anew
// in another block, while the first stays with the device. So neither waits for the other.
//
// Some bytes no end of a run gives back: blocks that a silent device holds, and memory that devices
// keep from run to run. All limits are less these.
//
// Idle blocks stay while blocks are no more than the runs that were in progress at once, and held
// bytes no more than 1.1 times what those runs needed at once: whatever order sizes come in, a
// block that a larger one outgrows goes, also while other runs keep theirs. trim() forgets both
// maxima.
//
// Blocks are allocated and freed without the mutex, as both may call the user's allocator. A block
// that is evicted counts against limits until it is freed.
//
// Thread-safety: RunMemory is thread-safe; a Lease and a Spare belong to one run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/machine/memory_source.h"
#include "base/mutex.h"
#include "parallax/result.h"
#include "run/run_block.h"

namespace parallax {

class RunMemory {
 public:
  class Lease;
  class Spare;

  struct Request {
    std::int64_t bytes = 0;
    std::optional<std::int64_t> limit;  ///< of all bytes held at once; nothing: no limit
    bool grows = false;                 ///< the run will reserve more while running
    Deadline deadline = {};             ///< of the wait
    /// Reads the limit again during a wait; null: the limit stays. Must not throw.
    const std::function<std::optional<std::int64_t>()>* read_limit = nullptr;
    std::shared_ptr<MemorySource> source = nullptr;  ///< null: of this object's own
    std::int64_t spare = 0;  ///< reserved beside `bytes`: Lease::take_spare()
    /// The block takes the place of these bytes, without a wait where they suffice. Null: of none.
    Spare* from = nullptr;
  };
  /// A block of at least `bytes`, aligned to kAlignment. Waits for other runs if it only fits
  /// without them. Errors: kBudgetExceeded if the block alone is larger than the limit,
  /// kOutOfMemory, kLimitExceeded.
  Result<Lease> acquire(Request request);

  /// For tests: how quickly large pages came so far.
  LargePageWatch& watch() { return source_->watch(); }

  /// Frees idle blocks, and keeps later ones only as far as runs from now on need them.
  void trim();

  /// Bytes that a device keeps from run to run. Errors: kBudgetExceeded.
  Status fix(std::int64_t bytes, std::optional<std::int64_t> limit);
  void unfix(std::int64_t bytes);
  /// Those, and blocks that silent devices hold.
  std::int64_t fixed_bytes() const;

  /// Bytes held now, idle blocks included.
  std::int64_t held_bytes() const;
  /// Bytes that runs in progress hold.
  std::int64_t busy_bytes() const;
  /// The most bytes ever held.
  std::int64_t peak_bytes() const;
  /// For tests: runs that wait.
  std::size_t waiting() const;

 private:
  using Blocks = RunBlocks;  // one of a run has one element
  /// Blocks that are no longer idle; frees them when destroyed. Must outlive a lock of the mutex.
  class Evicted;

  Blocks::iterator best_idle(const Request& request) PX_REQUIRES(mutex_);
  Status wait_for_turn(Request& request) PX_REQUIRES(mutex_);
  Blocks take_block(const Request& request, Evicted& evicted) PX_REQUIRES(mutex_);
  bool has_room_beside(const Request& request) const PX_REQUIRES(mutex_);
  bool admissible(const Request& request) const PX_REQUIRES(mutex_);
  static std::int64_t bytes_of(const Spare* spare);
  std::int64_t idle_bytes() const PX_REQUIRES(mutex_);
  std::int64_t most_kept() const PX_REQUIRES(mutex_);
  void hold(std::int64_t bytes) PX_REQUIRES(mutex_);
  void note_peak();
  void need(std::int64_t bytes) PX_REQUIRES(mutex_);
  void evict(Blocks::iterator block, Evicted& evicted) PX_REQUIRES(mutex_);
  void evict_one(std::int64_t excess, Evicted& evicted) PX_REQUIRES(mutex_);
  void evict_above(std::int64_t limit, Evicted& evicted) PX_REQUIRES(mutex_);
  void evict_unneeded(std::int64_t more, Evicted& evicted) PX_REQUIRES(mutex_);
  void give_back(Blocks block, std::int64_t needed, bool exclusive, bool fixed,
                 std::optional<std::int64_t> limit);
  void set_aside(std::int64_t bytes, bool exclusive);
  bool lower(std::int64_t limit);
  Status reserve(std::int64_t bytes, std::optional<std::int64_t> limit);
  void release(std::int64_t bytes);

  const std::shared_ptr<MemorySource> source_ = std::make_shared<MemorySource>();
  mutable Mutex mutex_;
  Condition changed_;
  Blocks idle_ PX_GUARDED_BY(mutex_);
  // Blocks, idle or not, and what runs have reserved besides.
  std::int64_t held_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t peak_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t fixed_ PX_GUARDED_BY(mutex_) = 0;    // of held_
  std::int64_t leaving_ PX_GUARDED_BY(mutex_) = 0;  // evicted and not freed yet; beside held_
  // held_ without idle blocks, nor what blocks of runs have beyond their request.
  std::int64_t needed_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t most_needed_ PX_GUARDED_BY(mutex_) = 0;  // since the last trim()
  std::size_t runs_ PX_GUARDED_BY(mutex_) = 0;
  std::size_t most_runs_ PX_GUARDED_BY(mutex_) = 0;  // since the last trim()
  // The run in progress may grow under a limit.
  bool exclusive_ PX_GUARDED_BY(mutex_) = false;
  std::vector<const Request*> waiting_ PX_GUARDED_BY(mutex_);  // in order of arrival
};

/// The block of one run; goes back when destroyed. Must not outlive its RunMemory.
class RunMemory::Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  std::byte* data() const { return block_.front().memory.get(); }
  std::int64_t bytes() const { return block_.front().bytes; }
  /// What the last run with this block left for the next one; null for the first. Its bytes are not
  /// counted.
  std::shared_ptr<RunBuffers>& buffers() { return block_.front().buffers; }
  bool limited() const { return limit().has_value(); }
  /// Where more memory of the run is to come from.
  MemorySource& source() const { return *block_.front().source; }

  /// Sets the limit of all bytes held, for what is reserved from now on. Idle blocks above it go
  /// back to the system. False if runs already hold more. Thread-safe.
  bool set_limit(std::int64_t limit);
  /// As RunMemory::trim(). Thread-safe.
  void trim() { owner_->trim(); }

  /// Reserves bytes that the run is about to allocate elsewhere. Thread-safe. Errors:
  /// kBudgetExceeded with the number of missing bytes.
  Status reserve(std::int64_t bytes) { return owner_->reserve(bytes, limit()); }
  void release(std::int64_t bytes) { owner_->release(bytes); }

  /// What Request::spare reserved; nothing the second time. Goes back with the lease where it was
  /// not taken.
  Spare take_spare();
  /// A silent device has the block, and `more` bytes that the run has reserved: other runs do not
  /// wait for these. They go back with the lease.
  void set_aside(std::int64_t more = 0);

 private:
  friend class RunMemory;
  Lease(const Request& request, bool exclusive)
      : needed_(request.bytes), spare_(request.spare), exclusive_(exclusive) {}
  std::optional<std::int64_t> limit() const {
    const std::int64_t limit = limit_.load(std::memory_order_relaxed);
    return limit == kNoLimit ? std::nullopt : std::optional(limit);
  }

  static constexpr std::int64_t kNoLimit = -1;
  RunMemory* owner_ = nullptr;
  Blocks block_;  // one; empty where acquire() fails to allocate it
  std::int64_t needed_;
  std::atomic<std::int64_t> limit_{kNoLimit};
  std::int64_t spare_;
  bool exclusive_;
  bool fixed_ = false;
  std::int64_t more_ = 0;  // of set_aside()
};

/// Bytes that are reserved and not allocated. Must not outlive its RunMemory.
class RunMemory::Spare {
 public:
  Spare() = default;
  Spare(RunMemory& owner, std::int64_t bytes) : owner_(&owner), bytes_(bytes) {}
  Spare(Spare&& other) noexcept : owner_(other.owner_), bytes_(std::exchange(other.bytes_, 0)) {}
  Spare& operator=(Spare&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Spare() {
    if (bytes_ > 0) owner_->release(bytes_);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class RunMemory;
  RunMemory* owner_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace parallax
