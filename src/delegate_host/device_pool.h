// Pieces of a device's own memory, which hold values of runs. Idle pieces are reused, so runs like
// earlier ones allocate nothing. They are released to the device if its memory is short, or if all
// pieces together exceed 1.1 times the maximum that runs needed at the same time.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>

#include "delegate_host/device_ledger.h"
#include "delegate_host/open_delegate.h"

namespace parallax {

class DevicePool;

/// A piece of a device's own memory. The destructor releases it, which calls the delegate.
class DevicePiece {
 public:
  /// Allocates memory without counting it in a ledger. Errors: those of the delegate; kOutOfMemory
  /// if it returns null.
  static Result<std::unique_ptr<DevicePiece>> allocate(std::shared_ptr<const OpenDelegate> delegate,
                                                       std::size_t bytes);
  /// Releases the memory, unless this is a child of fork().
  ~DevicePiece();
  DevicePiece(const DevicePiece&) = delete;
  DevicePiece& operator=(const DevicePiece&) = delete;

  /// Returns the delegate's handle of the memory, which the host may not dereference.
  void* memory() const { return memory_.memory; }
  /// Returns the address at which the host can access the memory; null: use the delegate's write
  /// and read.
  std::byte* host() const { return static_cast<std::byte*>(memory_.host); }
  /// Returns the size that was requested.
  std::size_t bytes() const { return bytes_; }
  /// Marks the contents as unreliable after a failed call that may still write to them; the piece
  /// is then never reused. Thread-safe.
  void spoil() { spoiled_ = true; }
  bool spoiled() const { return spoiled_; }

 private:
  friend class DevicePool;
  DevicePiece(std::shared_ptr<const OpenDelegate> delegate, std::size_t bytes)
      : delegate_(std::move(delegate)), bytes_(bytes) {}
  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::size_t bytes_;
  DeviceCharge staging_;  // released after the memory
  px_memory memory_{};
  std::atomic<bool> spoiled_{false};
};

/// Create it with std::make_shared: pieces in use keep the pool alive.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  /// `ledger` counts the device's memory, `host` the host memory that copies need; null: not
  /// counted.
  DevicePool(std::shared_ptr<const OpenDelegate> delegate, std::shared_ptr<DeviceLedger> ledger,
             std::shared_ptr<DeviceLedger> host = nullptr)
      : delegate_(std::move(delegate)), ledger_(std::move(ledger)), host_(std::move(host)) {}
  /// Releases the idle pieces. Pieces in use keep the pool alive, so there are none.
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// Returns a piece of at least `bytes` bytes; it is idle again when the last owner is gone.
  /// Evicts idle pieces if memory is short. Errors: kBudgetExceeded; those of the delegate. May
  /// call the delegate. Content is that of an earlier run, or undefined.
  Result<std::shared_ptr<DevicePiece>> take(std::size_t bytes);
  /// Releases all idle pieces, and resets the maximum that decides how many are kept.
  void trim();

 private:
  /// Idle pieces by size.
  using Idle = std::multimap<std::size_t, std::unique_ptr<DevicePiece>>;
  /// Removes and returns the smallest idle piece that suffices. Null if no piece does, or if
  /// allocating a new one wastes less memory and fits the pool.
  std::unique_ptr<DevicePiece> take_idle(std::size_t bytes) PX_REQUIRES(mutex_);
  /// Returns the limit for all bytes of the pool while pieces are idle.
  std::size_t most_kept() const PX_REQUIRES(mutex_);
  /// Moves idle pieces beyond the limit to `evicted`, for release without the mutex.
  void evict_unneeded(Idle& evicted) PX_REQUIRES(mutex_);
  /// Releases pieces to the device.
  void drop_all(Idle& evicted) noexcept;
  /// Removes and returns the largest idle piece; null if no piece is idle.
  std::unique_ptr<DevicePiece> largest_idle();
  /// Counts bytes in the ledger. Releases idle pieces until they fit. Errors: kBudgetExceeded.
  Status count(std::size_t bytes);
  /// Allocates a new piece and counts it. Releases idle pieces if the device or the host is short
  /// of memory. Errors: kBudgetExceeded; those of the delegate.
  Result<std::unique_ptr<DevicePiece>> make(std::size_t bytes);
  /// Allocates a piece, and counts the host memory that its copies need.
  Result<std::unique_ptr<DevicePiece>> allocate(std::size_t bytes);
  /// Makes a piece idle, or releases it if it is spoiled or the pool is full. `needed`: bytes of
  /// the request.
  void put(std::unique_ptr<DevicePiece> piece, std::size_t needed) noexcept;
  /// Releases a piece; on another thread if this one is delivering an answer.
  void drop(std::unique_ptr<DevicePiece> piece) noexcept;

  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<DeviceLedger> ledger_, host_;
  Mutex mutex_;
  Idle idle_ PX_GUARDED_BY(mutex_);
  std::size_t idle_bytes_ PX_GUARDED_BY(mutex_) = 0;  ///< sum of idle_
  std::size_t busy_bytes_ PX_GUARDED_BY(mutex_) = 0;  // bytes of pieces in use
  // Bytes that take() was asked for by their users, and the maximum of it since the last trim().
  std::size_t needed_ PX_GUARDED_BY(mutex_) = 0, most_needed_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
