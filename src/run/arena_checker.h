// Checks the planner's guarantee during a run: no two planned tensors share bytes while both are
// live. One overlap is allowed: an output may reuse the bytes of an input that no other node reads
// later (Buffer::over). Tests enable the checker. They also let it poison memory, which overwrites
// a tensor after its last read: then a planned lifetime that is too short changes the outputs.
//
// Thread-safe.
//
// Runs use it if assertions are on, except under the thread sanitizer, whose findings its lock
// would hide; and whenever ExecuteOptions::poison is set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "bind/program.h"

namespace parallax {

/// The live tensors of one run. Tensors outside the arena are not checked; outputs of the graph
/// stay live.
class ArenaChecker {
 public:
  /// `arena`: the address of offset 0 of the program. Both must outlive this object.
  ArenaChecker(const Program& program, std::byte* arena, bool poison);

  /// Marks the outputs of `node` as live; call it before `node` runs. Errors: kInternal, which
  /// names two tensors that share bytes. Stage kRun. On an error the remaining outputs are not
  /// marked.
  Status begin(NodeId node);
  /// Ends the life of each input of which `node` was the last reader; call it after `node` has run
  /// without an error, before a node that waits for it may start. With `poison` set, overwrites the
  /// bytes of each.
  void end(NodeId node);

 private:
  /// Both are indices of buffers.
  bool may_lie_on(std::size_t buffer, std::size_t other) const PX_REQUIRES(mutex_);
  void remove(std::size_t buffer) PX_REQUIRES(mutex_);

  const Program& program_;
  std::byte* const arena_;
  const bool poison_;
  IdVector<NodeId, std::vector<std::size_t>> made_, read_;  // indices of buffers
  Mutex mutex_;
  std::map<std::int64_t, std::size_t> live_ PX_GUARDED_BY(mutex_);  // buffers by offset
  std::vector<std::size_t> reads_left_ PX_GUARDED_BY(mutex_);       // reads left of each buffer
};

}  // namespace parallax
