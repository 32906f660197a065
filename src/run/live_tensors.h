// Checks at run time what the planner promises: no two planned tensors share bytes while both are
// alive, except where a node overwrites the last use of its input (Buffer::over). Tests turn it on,
// and poison memory too: a tensor's bytes are overwritten once its last reader is done, so that a
// lifetime that is too short shows in the outputs.
//
// Thread-safety: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "bind/program.h"

namespace parallax {

class LiveTensors {
 public:
  /// `arena`: the byte at offset 0 of the program.
  LiveTensors(const Program& program, std::byte* arena, bool poison);

  /// Call before `node` runs. Errors: kInternal, naming two tensors that share bytes.
  Status begin(NodeId node);
  /// Call after `node` has run, before a node that waits for it may start.
  void end(NodeId node);

 private:
  bool may_lie_on(std::size_t buffer, std::size_t other) const PX_REQUIRES(mutex_);
  void remove(std::size_t buffer) PX_REQUIRES(mutex_);

  const Program& program_;
  std::byte* const arena_;
  const bool poison_;
  IdVector<NodeId, std::vector<std::size_t>> made_, read_;  // buffers, by index
  Mutex mutex_;
  std::map<std::int64_t, std::size_t> live_ PX_GUARDED_BY(mutex_);  // buffers by offset
  std::vector<std::size_t> reads_left_ PX_GUARDED_BY(mutex_);       // by buffer
};

}  // namespace parallax
