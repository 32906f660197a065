// The values of one run that lie in one device's own memory: copies of what the CPU has made, and
// what the device's regions have made themselves. A value is there once, from its first region to
// its last; back to the CPU goes what the CPU or another device reads.
//
//     x --write--> [region 1] --> v --> [region 2] --> y --read--> the CPU
//
// Thread-safe. Copies are begun and not waited for.
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

/// Which regions read each value from outside, and whether the CPU does. By root (Compiled::root).
struct ValueReaders {
  explicit ValueReaders(const Compiled& compiled);
  IdVector<ValueId, std::vector<RegionId>> regions;  ///< distinct
  /// Graph outputs among them, and what regions with sizes that only running tells read.
  IdVector<ValueId, bool> cpu;
};

class DeviceValues : public std::enable_shared_from_this<DeviceValues> {
 public:
  using Then = std::function<void(Status)>;
  using Piece = std::shared_ptr<DevicePiece>;

  /// `readers`: by root, how many regions of this device read it in this run; `for_cpu`: whether
  /// anything else does.
  DeviceValues(std::shared_ptr<const OpenDelegate> delegate, std::shared_ptr<DevicePool> pool,
               IdVector<ValueId, int> readers, IdVector<ValueId, bool> for_cpu)
      : delegate_(std::move(delegate)),
        pool_(std::move(pool)),
        for_cpu_(std::move(for_cpu)),
        readers_(std::move(readers)) {}

  /// Whether the CPU or another device reads it.
  bool is_for_cpu(ValueId root) const { return for_cpu_[root]; }

  /// Calls `then` when the value is on the device: it is there already, or is copied from
  /// `tensor.bytes`, which `done` is told of. `then` may be called before this returns.
  void want(ValueId root, const RegionTensor& tensor, const Completion& done, Then then);
  /// REQUIRES: want() has succeeded, or keep(); the region is one of the value's readers.
  Piece piece(ValueId root) const;
  /// A region has made the value in `piece`: the CPU does not have it.
  void keep(ValueId root, Piece piece);
  /// Calls `then` when the CPU has the value of `from` too, in `tensor.bytes`.
  void fetch(ValueId root, const Piece& from, const RegionTensor& tensor, const Completion& done,
             Then then);
  bool on_cpu(ValueId root) const;
  /// Whether regions will read it that is not there, nor on its way.
  bool is_awaited(ValueId root) const;
  /// A region that reads it has ended. The piece goes back after the last one.
  void let_go(ValueId root);

  /// Errors: as DevicePool::take().
  Result<Piece> allocate(const RegionTensor& tensor);

 private:
  struct Value {
    Piece piece;
    bool there = false;   ///< on the device, ready
    bool coming = false;  ///< is written
    bool on_cpu = true;
    std::vector<Then> waiting;  ///< for the write
  };
  void note_on_cpu(ValueId root);
  void write(ValueId root, const RegionTensor& tensor, const Completion& done);
  void written(ValueId root, Piece piece, const Status& status);
  /// Calls `then` with the answer, on whatever thread that comes. `then` owns the piece, and lets
  /// go of it before the run goes on: what a run used is idle if the run has ended.
  void copy(DevicePiece& piece, const RegionTensor& tensor, bool there, const Completion& done,
            Then then);

  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<DevicePool> pool_;
  const IdVector<ValueId, bool> for_cpu_;
  mutable Mutex mutex_;
  IdVector<ValueId, int> readers_ PX_GUARDED_BY(mutex_);  // that have not ended
  std::map<ValueId, Value> values_ PX_GUARDED_BY(mutex_);
};

std::size_t size_of(const RegionTensor& tensor);

}  // namespace parallax
