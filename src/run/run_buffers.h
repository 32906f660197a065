// What a run needs besides its block of memory. It is kept with the block from run to run, so that
// a run like an earlier one allocates nothing. Used by one run at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/id.h"
#include "parallax/report.h"

namespace parallax {

/// What a run records for the trace; names are looked up afterwards.
struct TraceEvent {
  NodeId node;
  const KernelRow* kernel = nullptr;
  std::int64_t start_ns = 0, end_ns = 0;
  int worker = 0;
  std::int64_t tiles = 0;
};

struct RunBuffers {
  /// What the nodes of a branch use one after the other.
  struct OfThread {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    std::vector<TraceEvent> events;
  };
  struct Output {
    std::byte* bytes = nullptr;  ///< the caller's
    bool placed = false;
    bool writable = false;  ///< by kernels
  };

  IdVector<ValueId, std::byte*> bytes;  ///< of roots; kernels never write inputs and constants
  std::vector<Output> outputs;
  std::vector<OfThread> threads;  ///< by Participant::index()
  /// Inputs that were copied for a device. Of those of a body what is captured stays copied from
  /// trip to trip.
  IdVector<ValueId, bool> staged;
  std::vector<std::int32_t> ready;
  std::unique_ptr<std::atomic<std::int32_t>[]> waits;  ///< by branch: how many it waits for
  std::size_t branches = 0;                            ///< for which `waits` has room

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
