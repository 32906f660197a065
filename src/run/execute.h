// Runs a Program by one of three executors, each of which obeys Plan::waits:
//
//   sequential  one branch after the other, in the order of the plan's steps;
//   layers      the branches of a step at once, a barrier after each step;
//   dataflow    a branch as soon as those that it waits for are done; of several, the one with most
//               work on the path after it. Where `waits` allow one order only, it is sequential.
//
// A branch runs node after node; threads without a branch take tiles of nodes that run elsewhere.
//
// Outputs have the same bits whatever the plan and the number of threads, because tiles depend on
// shapes only. Thread-safety: execute() may run the same Program several times at once, each call
// with a lease of its own.
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
/// size and valid until execute() returns; may be null if there are no elements. Called once per
/// output (of an object: the memory of an Object, with DType::kString), on the calling thread:
/// before the first node runs if the dims are known by then, else
/// after the last one.
using PlaceOutput = std::function<Result<std::byte*>(int output, DType dtype, const Dims& dims)>;

struct ExecuteOptions {
  /// For tests: overwrites each tensor's memory before it is written and after its last use.
  bool poison = false;
  RunTrace* trace = nullptr;
  /// Asked before a branch starts; null: the budget stays as it was.
  BudgetWatch* watch = nullptr;
  Scheduler scheduler = Scheduler::kDataflow;
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  Deadline deadline = {};
  /// Runs the regions. Null: the CPU does, or a program that has one fails
  /// (Delegation::substitute).
  Device* device = nullptr;
  /// How long a region may take, copies included; 0: any time. A run whose region takes longer ends
  /// with kLimitExceeded and sets `late`: its memory waits for the device.
  std::chrono::nanoseconds region_time{0};
  bool* late = nullptr;
  /// Why the CPU runs all regions of a plan that has a substitute; empty: the device does.
  std::string regions_on_cpu = {};
  /// Is told of each region that the CPU runs because the device failed to. Null: nothing is.
  const Logger* log = nullptr;
  /// What the lease needs for as long as a device holds its memory.
  std::shared_ptr<const void> lease_owner = nullptr;
};

/// `inputs`: one pointer per graph input, aligned to its element size, or to an Object. `lease`
/// holds at least program.bytes. Errors: of kernels, of devices and of data-dependent allocation,
/// stage kExecute, with the name of the node that failed first. Pool and program remain usable
/// after an error.
/// Where a run ends before its device has answered, `lease` is moved from: its memory goes back
/// when the device answers.
Status execute(const Program& program, std::span<const std::byte* const> inputs,
               const PlaceOutput& place, WorkerPool& pool, RunMemory::Lease& lease,
               const ExecuteOptions& options);

}  // namespace parallax
