// The memory of runs: one block per run in progress, kept for the next run; and the account of all
// bytes that the sessions sharing it hold for activations and scratch.
//
// The account guarantees the budget: bytes are reserved before they are allocated. A run whose
// block does not fit next to those of other runs waits until one of them ends. Under a limit, a run
// with data-dependent tensors, which allocates during the run, runs alone. Only runs that hold
// nothing wait, in order of arrival: so no run waits for one that waits itself, and small runs do
// not overtake a large one for ever. A limit that follows free memory is read again when the wait
// may be over.
//
// A run with a delegate timeout also reserves a spare: the bytes that it needs to start again in
// another block, while the device still holds the first. So neither waits for the other.
//
// Some bytes are not released when a run ends: blocks that a late device holds, and memory that
// devices keep between runs ("fixed" bytes). They are subtracted from all limits.
//
// Idle blocks are kept while there are no more blocks than the most runs that were in progress
// concurrently, and no more bytes than 1.1 times the most that these runs needed together: whatever
// the order of sizes, a block that a larger one replaces is evicted, also while other runs keep
// theirs. trim() resets both maxima.
//
// Blocks are allocated and freed without the mutex, because both may call the user's allocator. An
// evicted block counts against limits until it is freed.
//
// Thread-safety: RunMemory is thread-safe; a Lease and a Spare belong to one run.
//
// All sizes and limits are bytes; errors have stage kRun and no node. Condition waits of runs are
// first come, first served.
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

/// The memory of all runs of one account. Thread-safe.
class RunMemory {
 public:
  class Lease;
  class Spare;

  /// The memory that a run needs. Pointers in it must stay valid until acquire() returns.
  struct Request {
    std::int64_t bytes = 0;  ///< size of the block
    /// Limit on all bytes held together; nullopt: no limit. Includes fixed bytes, blocks that are
    /// being freed, and further reservations of other runs.
    std::optional<std::int64_t> limit;
    /// The run will reserve more during the run. Under a limit such a run starts only when no other
    /// one is in progress, and others wait for its end.
    bool grows = false;
    /// Interrupts the wait. Also bounds the time for converting pages to large ones to a tenth of
    /// what is left.
    Deadline deadline = {};
    /// Reads the limit again during a wait; null: the limit is fixed. Must not throw. Called on the
    /// waiting thread, without the mutex, when it is first in the queue and was woken.
    const std::function<std::optional<std::int64_t>()>* read_limit = nullptr;
    /// Null: the system. Idle blocks of another source are not used.
    std::shared_ptr<MemorySource> source = nullptr;
    std::int64_t spare = 0;  ///< bytes to reserve in addition, for Lease::take_spare()
    /// Reserved bytes that the block replaces, without a wait if they suffice. Null: none. It is
    /// emptied once the wait is over.
    Spare* from = nullptr;
  };
  /// Returns a block of at least `bytes`, aligned to kAlignment. Blocks while it only fits without
  /// other runs. Errors: kBudgetExceeded if the block alone exceeds the limit; kOutOfMemory;
  /// kLimitExceeded and kCancelled from the deadline. Contents of the block are unspecified.
  /// kOutOfMemory, also for more than 2^53 bytes, releases everything that was reserved. Call it
  /// without locks other than turns: it may call the user's allocator. A limit that shrinks during
  /// the wait makes it fail, too.
  Result<Lease> acquire(Request request);

  /// Speed at which the system has provided large pages so far; for tests.
  LargePageWatch& watch() { return source_->watch(); }

  /// Frees idle blocks, and keeps later ones only if runs from now on need them. Frees them on this
  /// thread before it returns. Runs in progress keep their blocks.
  void trim();

  /// Reserves bytes that a device keeps between runs. Errors: kBudgetExceeded. Evicts idle blocks
  /// first; does not wait for runs. Waiting runs check again whether they can ever fit.
  Status fix(std::int64_t bytes, std::optional<std::int64_t> limit);
  /// Releases bytes that fix() reserved. Wakes waiting runs.
  void unfix(std::int64_t bytes);
  /// Bytes that fix() reserved, and blocks that late devices hold.
  std::int64_t fixed_bytes() const;

  /// Bytes held now, idle blocks included. Includes reservations that are not allocated yet, and
  /// fixed bytes.
  std::int64_t held_bytes() const;
  /// Bytes that runs in progress hold. The same without idle blocks.
  std::int64_t busy_bytes() const;
  /// The most bytes ever held together. Since this object was made; trim() does not reset it.
  std::int64_t peak_bytes() const;
  /// Number of runs that wait; for tests.
  std::size_t waiting() const;

 private:
  using Blocks = RunBlocks;  // the list of one run has one element
  /// Blocks that are no longer idle; frees them when destroyed. Must outlive a lock of the mutex.
  class Evicted;

  // Most are described in run_memory.cc. Those with an Evicted never free memory themselves.
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
  /// Takes the block of a lease back, and keeps or frees it.
  void give_back(Blocks block, std::int64_t needed, bool exclusive, bool fixed,
                 std::optional<std::int64_t> limit);
  /// Counts bytes of a run as fixed, and lets other runs start if it ran alone.
  void set_aside(std::int64_t bytes, bool exclusive);
  /// Frees idle blocks above `limit`. Returns false if runs hold more than that.
  bool lower(std::int64_t limit);
  /// Reserves bytes, after evicting idle blocks if necessary. Errors: kBudgetExceeded.
  Status reserve(std::int64_t bytes, std::optional<std::int64_t> limit);
  void release(std::int64_t bytes);

  const std::shared_ptr<MemorySource> source_ = std::make_shared<MemorySource>();
  mutable Mutex mutex_;
  Condition changed_;
  Blocks idle_ PX_GUARDED_BY(mutex_);
  // Bytes of all blocks, idle or not, and of all further reservations.
  std::int64_t held_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t peak_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t fixed_ PX_GUARDED_BY(mutex_) = 0;    // the part of held_ that is fixed
  std::int64_t leaving_ PX_GUARDED_BY(mutex_) = 0;  // evicted and not freed yet; not in held_
  // held_ without idle blocks, and without the bytes of blocks beyond their request.
  std::int64_t needed_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t most_needed_ PX_GUARDED_BY(mutex_) = 0;  // since the last trim()
  std::size_t runs_ PX_GUARDED_BY(mutex_) = 0;
  std::size_t most_runs_ PX_GUARDED_BY(mutex_) = 0;  // since the last trim()
  // Whether the run in progress may grow under a limit, so that it must run alone.
  bool exclusive_ PX_GUARDED_BY(mutex_) = false;
  std::vector<const Request*> waiting_ PX_GUARDED_BY(mutex_);  // in order of arrival
};

/// The block of one run, which returns to its RunMemory when this is destroyed. Must not outlive
/// it. Moving it does not move the block. A moved-from lease holds no block.
class RunMemory::Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  /// Returns the first byte, aligned to kAlignment.
  std::byte* data() const { return block_.front().memory.get(); }
  /// Size of the block, at least that of the request.
  std::int64_t bytes() const { return block_.front().bytes; }
  /// The buffers that the last run with this block left for the next one; null for the first run.
  /// Their bytes do not count.
  std::shared_ptr<RunBuffers>& buffers() { return block_.front().buffers; }
  /// Whether a limit on all bytes held is set.
  bool limited() const { return limit().has_value(); }
  /// The source of further memory of the run.
  MemorySource& source() const { return *block_.front().source; }

  /// Sets the limit on all bytes held, for reservations from now on. Frees idle blocks above it.
  /// Returns false if runs already hold more. Thread-safe. Negative limits count as 0. Memory that
  /// runs hold is not taken from them.
  bool set_limit(std::int64_t limit);
  /// As RunMemory::trim(). Thread-safe.
  void trim() { owner_->trim(); }

  /// Reserves bytes that the run is about to allocate elsewhere. Does not wait. Thread-safe.
  /// Errors: kBudgetExceeded with the number of missing bytes. Evicts idle blocks first, on this
  /// thread; waits only until blocks are freed that another thread has evicted. kOutOfMemory for
  /// more than 2^53 bytes.
  Status reserve(std::int64_t bytes) { return owner_->reserve(bytes, limit()); }
  /// Releases reserved bytes, after they were freed. Thread-safe. Wakes runs that wait for memory.
  void release(std::int64_t bytes) { owner_->release(bytes); }

  /// Returns the bytes that Request::spare reserved; an empty Spare the second time. The lease
  /// releases them unless this was called.
  Spare take_spare();
  /// Marks the block, and `more` bytes that the run has reserved, as held by a late device: other
  /// runs do not wait for them. They are released with the lease. The run then counts as ended.
  /// Only the first call counts.
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
  Blocks block_;  // one element; empty if acquire() fails to allocate it
  std::int64_t needed_;
  std::atomic<std::int64_t> limit_{kNoLimit};
  std::int64_t spare_;
  bool exclusive_;
  bool fixed_ = false;
  std::int64_t more_ = 0;  // argument of set_aside()
};

/// Bytes that are reserved and not allocated; released when destroyed. Must not outlive its
/// RunMemory. A run that starts again passes it to Request::from.
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
