// Programs: a compiled graph with its weights, and a plan with a place for every tensor. A run
// needs nothing else.
//
// make_bound() comes first, then lay_out() for each plan, bind() before the first run, and
// execute() (run/execute.h) for each run. Sizes and offsets are bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "bind/branch_order.h"
#include "bind/run_time_kernels.h"
#include "bind/scheduler_autotuner.h"
#include "compile/compiled.h"
#include "ops/deferred.h"

namespace parallax {

/// The place of a value's bytes during a run.
enum class StorageKind : std::uint8_t {
  kNone,     ///< no place: no node makes the value
  kInput,    ///< graph input `position`
  kFixed,    ///< a constant, or a symbolic value of this binding
  kArena,    ///< at byte `position` of the run's block
  kOutput,   ///< the caller's memory for graph output `position`; if that cannot be written yet,
             ///< memory of the run that is copied at the end
  kRunTime,  ///< allocated during the run
};
/// The processors that may access the bytes of a value. A device with memory of its own works on
/// copies there (run/device.h).
enum class MemorySpace : std::uint8_t {
  kHost,    ///< the CPU
  kShared,  ///< the CPU and, while it runs a region that reads or makes the value, a device
  kDevice,  ///< a device only: the value never leaves its region
};
/// The storage of one value.
struct Storage {
  StorageKind kind = StorageKind::kNone;
  std::int64_t position = 0;  ///< as StorageKind says; 0 for kinds that do not use it
  MemorySpace space = MemorySpace::kHost;
  /// For a graph input or output that a device reads or makes: the offset in the block of its copy,
  /// which the device uses because the caller may reuse its memory when the run ends. -1: no copy.
  std::int64_t staged = -1;
};

struct Program;
class Device;

/// A compiled graph, and everything that all its programs share. Shared by the programs of one
/// binding; destroying the last one destroys its device, which calls the delegate.
struct Bound {
  std::shared_ptr<const Compiled> compiled;  ///< never null
  /// The programs of the bodies of each node that has bodies; null for a body that could not be
  /// planned (CompiledBody::error).
  std::map<NodeId, std::vector<std::shared_ptr<const Program>>> bodies;
  /// The fixed inputs of each node's kernel, as BoundKernel::fixed after bind(); before that,
  /// constants may have any alignment.
  IdVector<NodeId, std::vector<const std::byte*>> fixed;
  std::vector<Computed> computed;      ///< deferred constants that kernels read; set by bind()
  Mutex binding{LockOrder::kBinding};  ///< held by bind()
  std::atomic<bool> done = false;      ///< whether bind() has succeeded
  RunTimeKernels run_time_kernels;
  std::shared_ptr<Device> device = nullptr;  ///< runs the regions (run/device.h); null: no regions
};

/// Lays out the bodies of a compiled graph, but neither packs nor copies: bind() does that before
/// the first run. Errors: as lay_out(). May be slow for graphs with bodies, since it plans these.
Result<std::shared_ptr<Bound>> make_bound(std::shared_ptr<const Compiled> compiled);

/// A plan with a place for every tensor. Immutable, and shared by concurrent runs, except for what
/// these learn: the faster order, and the kernels of `bound`.
struct Program {
  std::shared_ptr<Bound> bound;          ///< never null
  Plan plan;                             ///< order of branches, and offsets of buffers
  BranchOrder order;                     ///< the order that plan.waits allow
  IdVector<ValueId, Storage> storage;    ///< storage of roots; kNone for other values
  IdVector<BranchId, double> branch_ns;  ///< predicted nanoseconds of each branch
  mutable SchedulerAutotuner faster;     ///< used if `order` leaves a choice
  int threads = 1;                       ///< the most threads of a run, its caller's included
  std::int64_t arena_bytes = 0;          ///< bytes at the front of the block, for tensors
  /// Size of the block of a run: the arena, then the scratch of each thread, then staged copies.
  std::int64_t bytes = 0;
  std::int64_t staged_bytes = 0;  ///< bytes of staged copies (Storage::staged)

  const Compiled& compiled() const { return *bound->compiled; }
  /// The offset in the block of the scratch of a thread, by Participant::index().
  std::int64_t scratch_offset(int participant) const {
    return arena_bytes + participant * compiled().scratch_bytes;
  }
};

/// Options of lay_out(). Limits are those of one run.
struct LayoutOptions {
  bool parallel = true;                ///< false: branches run one after the other
  int threads = 1;                     ///< the most threads of a run, its caller's included
  std::optional<std::int64_t> budget;  ///< limit on Program::bytes; nullopt: no limit
  Admission admission = Admission::kTimeSaved;
  const Program* like = nullptr;  ///< a program of the same context and options, or null: its steps
                                  ///< may be reused
  bool explain = true;            ///< ScheduleOptions::explain
};
/// Plans the order of branches, and gives every tensor its place. Errors: kBudgetExceeded, which
/// says how many bytes are missing; kOutOfMemory. Plans may need tens of milliseconds
/// (kPlanEffort).
Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<Bound> bound,
                                               const LayoutOptions& options);

}  // namespace parallax
