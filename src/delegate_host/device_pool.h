// Pieces of a device's own memory, in which values of runs lie. A piece that nothing uses any more
// serves again, so that runs like earlier ones allocate nothing; idle ones go back to the device
// where its memory is short, and where all pieces are more than 1.1 times what runs needed at once.
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

/// A piece of a device's own memory.
class DevicePiece {
 public:
  /// Counts nothing. Errors: of the delegate.
  static Result<std::unique_ptr<DevicePiece>> allocate(std::shared_ptr<const OpenDelegate> delegate,
                                                       std::size_t bytes);
  ~DevicePiece();
  DevicePiece(const DevicePiece&) = delete;
  DevicePiece& operator=(const DevicePiece&) = delete;

  void* memory() const { return memory_.memory; }
  /// Null: write and read copy.
  std::byte* host() const { return static_cast<std::byte*>(memory_.host); }
  std::size_t bytes() const { return bytes_; }
  /// It may be anything after a failure: it is not used again.
  void spoil() { spoiled_ = true; }
  bool spoiled() const { return spoiled_; }

 private:
  friend class DevicePool;
  DevicePiece(std::shared_ptr<const OpenDelegate> delegate, std::size_t bytes)
      : delegate_(std::move(delegate)), bytes_(bytes) {}
  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::size_t bytes_;
  DeviceCharge staging_;  // given back after the memory
  px_memory memory_{};
  std::atomic<bool> spoiled_{false};
};

class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  /// `ledger`, and `host` for what copies take of the host's memory: null: nothing is counted.
  DevicePool(std::shared_ptr<const OpenDelegate> delegate, std::shared_ptr<DeviceLedger> ledger,
             std::shared_ptr<DeviceLedger> host = nullptr)
      : delegate_(std::move(delegate)), ledger_(std::move(ledger)), host_(std::move(host)) {}
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// At least so many bytes; idle again when the last owner is gone. Errors: kBudgetExceeded; of
  /// the delegate.
  Result<std::shared_ptr<DevicePiece>> take(std::size_t bytes);
  /// Frees idle pieces, and keeps later ones only as far as runs from now on need them.
  void trim();

 private:
  using Idle = std::multimap<std::size_t, std::unique_ptr<DevicePiece>>;
  std::unique_ptr<DevicePiece> take_idle(std::size_t bytes) PX_REQUIRES(mutex_);
  std::size_t most_kept() const PX_REQUIRES(mutex_);
  void evict_unneeded(Idle& evicted) PX_REQUIRES(mutex_);
  void drop_all(Idle& evicted) noexcept;
  std::unique_ptr<DevicePiece> largest_idle();
  Status count(std::size_t bytes);
  Result<std::unique_ptr<DevicePiece>> make(std::size_t bytes);
  Result<std::unique_ptr<DevicePiece>> allocate(std::size_t bytes);
  void put(std::unique_ptr<DevicePiece> piece, std::size_t needed) noexcept;
  void drop(std::unique_ptr<DevicePiece> piece) noexcept;

  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<DeviceLedger> ledger_, host_;
  Mutex mutex_;
  Idle idle_ PX_GUARDED_BY(mutex_);
  std::size_t idle_bytes_ PX_GUARDED_BY(mutex_) = 0;
  std::size_t busy_bytes_ PX_GUARDED_BY(mutex_) = 0;  // of pieces in use
  // What take() was asked for of these, and the most of it since the last trim().
  std::size_t needed_ PX_GUARDED_BY(mutex_) = 0, most_needed_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
