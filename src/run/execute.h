// Runs a Program by one of three executors, each of which obeys Plan::waits:
//
//   sequential  one branch after the other, in the order of the plan's steps;
//   layers      the branches of a step concurrently, a barrier after each step;
//   dataflow    a branch as soon as those that it waits for are done; of several, the one with the
//               most work on the path after it. If `waits` allow one order only, it is sequential.
//
// A branch runs node after node; threads without a branch help with tiles of running nodes.
//
// Outputs have the same bits under any plan and any number of threads, because tiles depend on
// shapes only. Thread-safety: execute() may run the same Program several times concurrently, each
// call with a lease of its own.
//
// Session::Impl::run_program() calls it after admission (session/). It neither plans nor waits for
// memory of other runs; it may wait for a slot of the pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.h"
#include "base/log.h"
#include "bind/program.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "run/budget_watch.h"
#include "run/device.h"
#include "run/pool/worker_pool.h"
#include "run/run_memory.h"

namespace parallax {

/// Returns the memory of graph output `output`, for a tensor of those dims: aligned to its element
/// size and valid until execute() returns; may be null if there are no elements. For an object it
/// returns the address of an Object, and `dtype` is DType::kString. Called once per output, on the
/// calling thread: before the first node runs if the dims are known by then, else after the last.
/// The memory must not overlap inputs or other outputs, and stays the caller's also if the run
/// fails; its contents are unspecified then. Called without locks except the turn of a State. An
/// error ends the run with it.
using PlaceOutput = std::function<Result<std::byte*>(int output, DType dtype, const Dims& dims)>;

/// Options of one run. Everything that pointers refer to must outlive it.
struct ExecuteOptions {
  /// Overwrites each tensor's memory before it is written and after its last use; for tests. Freed
  /// tensors whose sizes only the run determines are overwritten, too.
  bool poison = false;
  /// Null: nothing is recorded. Written only if the run succeeds.
  RunTrace* trace = nullptr;
  /// Decides before each branch whether it may run concurrently; null: the budget is fixed. Its
  /// lease must be that of the run.
  BudgetWatch* watch = nullptr;
  /// A dataflow run whose branches cannot run concurrently, or that has one thread and no device,
  /// runs in order.
  Scheduler scheduler = Scheduler::kDataflow;
  /// As SessionOptions::max_loop_trips. Counted over all loops of the run together, nested ones
  /// included. Loops that are known to make more fail before outputs are requested.
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  /// Default: no limit. Checked before each node, each trip and each region; a running tile is
  /// never interrupted.
  Deadline deadline = {};
  /// Runs the regions. Null: the CPU runs them as a fallback (Delegation::substitute); without that
  /// a program with regions fails.
  Device* device = nullptr;
  /// Time limit of a region, copies included; 0: no limit. A run with a region that exceeds it ends
  /// with kLimitExceeded and sets `late`: its memory is kept for the device. Each region and each
  /// copy has this time, from its own start.
  std::chrono::nanoseconds region_time{0};
  /// Null: not needed. Written once, after the run, if the device took part.
  bool* late = nullptr;
  /// The reason why the CPU runs all regions of a plan with the CPU as a fallback; empty: the
  /// device runs them.
  std::string regions_on_cpu = {};
  /// Receives each region that the CPU runs because the device failed. Null: nothing is logged.
  const Logger* log = nullptr;
  /// Kept alive as long as a device holds the memory of the lease. It must own the account of the
  /// lease and the program.
  std::shared_ptr<const void> lease_owner = nullptr;
};

/// Runs `program` once, on the calling thread and idle threads of `pool`. `inputs`: one pointer per
/// graph input, aligned to its element size, or to an Object; none is written. `lease` holds at
/// least program.bytes; bind() has succeeded. Errors: those of `place`, of kernels, of devices and
/// of data-dependent allocation, stage kRun, with the name of the node that failed first;
/// kLimitExceeded, kCancelled. Pool and program remain usable after an error. If the run ends
/// before its device has answered, `lease` is moved from: its memory is released when the device
/// answers. `inputs` are in the order of the graph. Blocks until the run has ended; threads of the
/// pool and of the device that used its state have left it by then. A stop request ends it with
/// kCancelled and does not wait for a device. Allocates from the system or the user's allocator
/// only for data-dependent tensors, objects and buffers that the lease does not have yet.
/// kUnsupported if a region can run neither on a device nor on the CPU; kInvalidInput if sizes
/// contradict the model's dimensions.
Status execute(const Program& program, std::span<const std::byte* const> inputs,
               const PlaceOutput& place, WorkerPool& pool, RunMemory::Lease& lease,
               const ExecuteOptions& options);

}  // namespace parallax
