// The values of one run that are in one device's own memory: copies of results of the CPU, and
// results of the device's regions. Each value is stored once, from its first region to its last;
// values that the CPU or another device reads are copied back.
//
//     x --write--> [region 1] --> v --> [region 2] --> y --read--> the CPU
//
// Thread-safe. Copies are started and not waited for.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "compile/compiled.h"
#include "delegate_host/device_pool.h"
#include "run/device.h"

namespace parallax {

/// The regions that read each value from outside, and whether the CPU reads it; by root
/// (Compiled::root).
struct ValueReaders {
  /// Visits all nodes of the graph once.
  explicit ValueReaders(const Compiled& compiled);
  IdVector<ValueId, std::vector<RegionId>> regions;  ///< each region once
  /// True for values that the CPU reads, among them graph outputs, and inputs of regions whose
  /// sizes become known during a run, which the CPU may have to run.
  IdVector<ValueId, bool> cpu;
};

/// Create it with std::make_shared: copies that are in progress keep it alive.
class DeviceValues : public std::enable_shared_from_this<DeviceValues> {
 public:
  /// A callback, called once, on any thread, without locks.
  using Then = std::function<void(Status)>;
  /// A piece may be shared by runs of regions that overlap.
  using Piece = std::shared_ptr<DevicePiece>;

  /// `readers`: by root, the number of this device's regions that read the value in this run;
  /// `for_cpu`: whether anything else reads it.
  DeviceValues(std::shared_ptr<const OpenDelegate> delegate, std::shared_ptr<DevicePool> pool,
               IdVector<ValueId, int> readers, IdVector<ValueId, bool> for_cpu)
      : delegate_(std::move(delegate)),
        pool_(std::move(pool)),
        for_cpu_(std::move(for_cpu)),
        readers_(std::move(readers)) {}

  /// Returns whether the CPU or another device reads the value.
  bool is_for_cpu(ValueId root) const { return for_cpu_[root]; }

  /// Calls `then` when the value is on the device: immediately if it is, otherwise after copying it
  /// from `tensor.bytes`, which is reported to `done`. Concurrent calls for one value share a copy.
  /// `then` may be called before this returns; it receives the errors of allocate() and of the
  /// delegate's write.
  void want(ValueId root, const RegionTensor& tensor, const Completion& done, Then then);
  /// Returns the piece that holds the value. REQUIRES: want() has succeeded or keep() was called,
  /// and the region is one of the value's readers.
  Piece piece(ValueId root) const;
  /// Stores the result of a region, in `piece`; the CPU does not have it yet. Ignored if no region
  /// reads it.
  void keep(ValueId root, Piece piece);
  /// Copies the value from `from` to `tensor.bytes` and calls `then` when the CPU has it. `then`
  /// may be called before this returns.
  void fetch(ValueId root, const Piece& from, const RegionTensor& tensor, const Completion& done,
             Then then);
  /// Returns whether the CPU has the current value.
  bool on_cpu(ValueId root) const;
  /// Returns whether regions will read the value although it is neither on the device nor being
  /// copied.
  bool is_awaited(ValueId root) const;
  /// Notes that a region that reads the value has ended. After the last one its piece returns to
  /// the pool.
  void let_go(ValueId root);

  /// Allocates a piece for the tensor. Errors: as DevicePool::take().
  Result<Piece> allocate(const RegionTensor& tensor);

 private:
  struct Value {
    Piece piece;                ///< null: not on the device
    bool there = false;         ///< the device has it
    bool coming = false;        ///< is being copied to the device
    bool on_cpu = true;         ///< the CPU has the current value
    std::vector<Then> waiting;  ///< callbacks that wait for the copy
  };
  /// Notes that a copy back to the CPU has succeeded.
  void note_on_cpu(ValueId root);
  /// Allocates a piece and starts the copy of a value to the device.
  void write(ValueId root, const RegionTensor& tensor, const Completion& done);
  /// Ends a copy to the device and calls the waiting callbacks. After a failure the piece is not
  /// reused.
  void written(ValueId root, Piece piece, const Status& status);
  /// Starts a copy to the device (`there`) or back; calls `then` with the answer, on whatever
  /// thread it arrives. `then` owns the piece and releases it before the run continues, so that all
  /// pieces are idle when the run has ended.
  void copy(DevicePiece& piece, const RegionTensor& tensor, bool there, const Completion& done,
            Then then);

  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<DevicePool> pool_;
  const IdVector<ValueId, bool> for_cpu_;  ///< whether the CPU or another device reads each value
  mutable Mutex mutex_;
  IdVector<ValueId, int> readers_ PX_GUARDED_BY(mutex_);   // number of readers that have not ended
  std::map<ValueId, Value> values_ PX_GUARDED_BY(mutex_);  ///< values that were wanted or kept so
                                                           ///< far
};

/// Returns the bytes of the tensor's elements.
std::size_t size_of(const RegionTensor& tensor);

}  // namespace parallax
