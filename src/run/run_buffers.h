// Buffers that a run needs in addition to its block of memory. They are kept with the block, so
// that a run like an earlier one allocates nothing. Used by one run at a time.
//
// RunMemory::Lease::buffers() passes them on; those of a body stay with its BodyRunner for all
// trips. Their bytes count in no budget.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/id.h"
#include "parallax/report.h"

namespace parallax {

/// A node that ran, for the trace; names are looked up after the run.
struct TraceEvent {
  NodeId node;
  const KernelRow* kernel = nullptr;  ///< null: the node computes objects
  /// Nanoseconds since the start of the run. Read from the steady clock; a body counts from the
  /// start of the outermost run.
  std::int64_t start_ns = 0, end_ns = 0;
  int worker = 0;          ///< Participant::index() of the thread that began it
  std::int64_t tiles = 0;  ///< parts into which it was divided
};

/// The buffers of one run.
struct RunBuffers {
  /// Buffers of one thread, used by one node after the other. Only that thread accesses it during
  /// the run; the vectors keep their memory from node to node.
  struct OfThread {
    std::vector<const std::byte*> inputs;  ///< arguments of a kernel
    std::vector<std::byte*> outputs;
    std::vector<TraceEvent> events;  ///< nodes that this thread began
  };
  /// A graph output.
  struct Output {
    std::byte* bytes = nullptr;  ///< the caller's memory
    bool placed = false;         ///< whether the caller was asked for memory
    /// Whether kernels may write it in place. False for an output without elements.
    bool writable = false;
  };

  /// Bytes of roots; kernels never write inputs or constants. Null: no memory yet, or no longer.
  IdVector<ValueId, std::byte*> bytes;
  std::vector<Output> outputs;    ///< one for each graph output
  std::vector<OfThread> threads;  ///< indices: Participant::index()
  /// Whether a value was copied for a device. In a body, captured values stay copied in later
  /// trips.
  IdVector<ValueId, bool> staged;
  /// Ready branches, by rank. A heap under the mutex of the dataflow executor.
  std::vector<std::int32_t> ready;
  std::unique_ptr<std::atomic<std::int32_t>[]> waits;  ///< branches that each branch waits for
  std::size_t branches = 0;                            ///< size of `waits`

  /// Prepares the buffers for a run with these numbers; keeps their memory. Does not reset
  /// `staged`: the run does that. Allocates only if a number exceeds those of all earlier runs.
  /// `participants`: greater than the index of every thread.
  void reset(std::size_t values, std::size_t graph_outputs, std::size_t participants,
             std::size_t branch_count) {
    bytes.resize(values);
    for (std::byte*& place : bytes) place = nullptr;
    outputs.assign(graph_outputs, {});
    if (threads.size() < participants) threads.resize(participants);
    for (OfThread& thread : threads) thread.events.clear();
    ready.clear();
    ready.reserve(branch_count);
    if (branches >= branch_count) return;
    waits = std::make_unique<std::atomic<std::int32_t>[]>(branch_count);
    branches = branch_count;
  }
};

}  // namespace parallax
