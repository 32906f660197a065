// What a run needs: a Compiled with its weights, and a plan of it with a place for every tensor.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "bind/branch_order.h"
#include "bind/faster_order.h"
#include "bind/run_time_kernels.h"
#include "compile/compiled.h"
#include "ops/deferred.h"

namespace parallax {

/// Where the bytes of a value lie during a run.
enum class StorageKind : std::uint8_t {
  kNone,     ///< nowhere: no node makes it
  kInput,    ///< graph input `position`
  kFixed,    ///< a constant, or a symbolic value of this binding
  kArena,    ///< at byte `position` of the run's block
  kOutput,   ///< the caller's memory for graph output `position`; if that cannot be written yet,
             ///< memory of the run that is copied at the end
  kRunTime,  ///< allocated while running
};
/// Who may touch the bytes of a value. A device with memory of its own works on copies there
/// (run/device.h).
enum class MemorySpace : std::uint8_t {
  kHost,    ///< the CPU
  kShared,  ///< the CPU and, while it runs a region that reads or makes the value, a device
  kDevice,  ///< a device only: the value never leaves its region
};
struct Storage {
  StorageKind kind = StorageKind::kNone;
  std::int64_t position = 0;
  MemorySpace space = MemorySpace::kHost;
  /// Of a graph input or output that a device reads or makes: the bytes of the block that it gets
  /// in place of the caller's, which are his again when the run ends. -1: none.
  std::int64_t staged = -1;
};

struct Program;
class Device;

/// One Compiled, and what all its programs share beside it.
struct Bound {
  std::shared_ptr<const Compiled> compiled;
  /// By node with bodies: the program of each, null where it has none (CompiledBody::error).
  std::map<NodeId, std::vector<std::shared_ptr<const Program>>> bodies;
  /// Of each node's kernel, as BoundKernel::fixed once bind() is done; before, the constants among
  /// them lie at any alignment.
  IdVector<NodeId, std::vector<const std::byte*>> fixed;
  std::vector<Computed> computed;  ///< deferred constants that kernels read, once bind() is done
  Mutex binding{LockOrder::kBinding};  ///< bind() holds it
  std::atomic<bool> done = false;      ///< bind() is
  RunTimeKernels run_time_kernels;
  std::shared_ptr<Device> device = nullptr;  ///< runs its regions (run/device.h); null: none
};

/// Packs nothing, copies nothing: bind() does, before the first run. Errors: as lay_out().
Result<std::shared_ptr<Bound>> make_bound(std::shared_ptr<const Compiled> compiled);

/// Immutable, and shared by runs at once, but for what they learn: which order is faster, and the
/// kernels of `bound`.
struct Program {
  std::shared_ptr<Bound> bound;
  Plan plan;
  BranchOrder order;                     ///< of plan.waits
  IdVector<ValueId, Storage> storage;    ///< of roots; kNone for others
  IdVector<BranchId, double> branch_ns;  ///< sums of predicted_ns()
  mutable FasterOrder faster;            ///< if `order` leaves a choice
  int threads = 1;
  std::int64_t arena_bytes = 0;
  /// Of the block of a run: the arena, then the scratch of each thread, then what is staged.
  std::int64_t bytes = 0;
  std::int64_t staged_bytes = 0;

  const Compiled& compiled() const { return *bound->compiled; }
  std::int64_t scratch_offset(int participant) const {
    return arena_bytes + participant * compiled().scratch_bytes;
  }
};

struct LayoutOptions {
  bool parallel = true;
  int threads = 1;
  std::optional<std::int64_t> budget;
  Admission admission = Admission::kTimeSaved;
  const Program* like = nullptr;  ///< of the same context and options: its steps may be reused
  bool explain = true;            ///< ScheduleOptions::explain
};
/// Plans, and gives every tensor its place. Errors: kBudgetExceeded, kOutOfMemory.
Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<Bound> bound,
                                               const LayoutOptions& options);

}  // namespace parallax
