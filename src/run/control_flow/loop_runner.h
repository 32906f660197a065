// Runs a Loop or a Scan: trips of a body, values carried from one trip to the next, slices of
// inputs and outputs. Internal to run/.
//
// Memory of carried values and slices is in the node's workspace if the plan knows their sizes,
// else in dynamic arenas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/control_flow.h"
#include "run/control_flow/body_runner.h"
#include "run/control_flow/slices.h"

namespace parallax {

/// One execution of a Loop or a Scan.
class LoopRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  /// Runs all trips. Errors: as run_loop(). A trip count below 0 counts as 0. A loop that has
  /// neither a count nor a condition ends by RunLimits only. Call it once.
  Status run();
  /// Frees a carried value that the trip no longer reads; other inputs stay until the last trip.
  void let_go(std::size_t i) override;

 private:
  /// A carried value: in the memory of the node's input at first, then alternately in two buffers,
  /// the first of which is the node's output. A value whose size only a run determines gets a block
  /// of output_arena() in each trip; its last reader frees the block of the trip before. An object
  /// is alternately in one of two Objects.
  struct Carried {
    const std::byte* bytes = nullptr;  ///< the value that this trip reads
    Dims dims;                         ///< its dims
    std::byte* buffers[2] = {nullptr, nullptr};
    int next = 0;                  ///< the buffer that the next trip writes
    std::byte* written = nullptr;  ///< the value that this trip writes
    Dims written_dims;
    std::byte* owned = nullptr;  ///< `bytes`, if they are a block; else null
    bool gone = false;           ///< whether `bytes` are no longer read
    bool kept = false;           ///< whether the body returns its input unchanged
    Object objects[2];           ///< the buffers of an object
    bool is_object = false;
    bool planned = false;  ///< whether it uses the buffers, which may be null if it has no bytes
  };
  /// An input that each trip reads a slice of. Scan defines its axis and direction; all scan inputs
  /// have the same length along their axes.
  struct ScanInput {
    const std::byte* bytes = nullptr;  ///< the whole tensor
    ScanAxis axis;
    Slices slices;
    std::byte* slice = nullptr;  ///< copy of the current slice; null: read in place
  };
  /// An output that each trip writes a slice of. An output of unknown length has its slices along
  /// the first axis, and grows by half each time, from 16 slices.
  struct ScanOutput {
    bool started = false;  ///< whether its memory is allocated
    bool read = true;      ///< false: it is not used, each slice overwrites the last
    Dims slice_dims;       ///< dims of one slice, the same in all trips
    DType dtype = DType::kF32;
    ScanAxis axis;
    std::byte* bytes = nullptr;    ///< the whole tensor
    std::int64_t room = 0;         ///< number of slices for which there is memory
    std::byte* slice = nullptr;    ///< copy of the current slice; null: written in place
    std::int64_t slice_bytes = 0;  ///< size of one slice
  };

  const Graph& body() const { return bodies_[0]->compiled().graph(); }
  std::byte* planned(std::int64_t offset) const {
    return offset < 0 ? nullptr : workspace_ + offset;
  }

  /// Checks inputs, finds the number of trips, and prepares memory. kLimitExceeded before carried
  /// values get memory if the trips are known and too many; kInvalidInput for a count or condition
  /// of another size than one, or scan inputs of different lengths.
  Status begin();
  Status begin_counters();
  Status begin_carried(std::size_t i);
  Status begin_scan_input(std::size_t i);
  Status begin_scan_output(std::size_t i);
  Status run_trip(std::int64_t trip);
  /// Returns the memory of a body's output in this trip: the condition, a carried value, or a
  /// slice. kInvalidInput if a planned carried value or a slice comes with other dims.
  Result<std::byte*> place(std::size_t output, DType dtype, const Dims& dims, std::int64_t trip);
  Result<std::byte*> place_carried(Carried& carried, DType dtype, const Dims& dims);
  Result<std::byte*> place_slice(std::size_t i, DType dtype, const Dims& dims, std::int64_t trip);
  Status start_scan_output(std::size_t i, DType dtype, const Dims& dims);
  /// Needs the old and the new memory at the same time, at most 2.5 times the old.
  Status make_room(ScanOutput& output, std::int64_t slices);
  void let_go_carried(std::size_t i);
  void take_results(std::int64_t trip);
  void take_carried(std::size_t i);
  /// Makes the outputs of the node after `trips` trips; scan outputs without a trip have length 0.
  Status end(std::int64_t trips);
  /// The slice of a trip along an axis, which may be read in reverse.
  std::int64_t position(const ScanAxis& axis, std::int64_t trip) const {
    return axis.reverse ? *limit_ - 1 - trip : trip;
  }

  LoopParts parts_;
  std::optional<std::int64_t> limit_;  ///< the most trips; nullopt: only the condition ends it
  bool exact_ = false;                 ///< whether the body runs exactly limit_ times
  bool goes_on_ = true;                ///< the condition after the last trip
  std::vector<Carried> carried_;
  std::vector<ScanInput> scan_inputs_;
  std::vector<ScanOutput> scan_outputs_;
  std::vector<const std::byte*> inputs_;
  std::vector<Dims> dims_;
  /// Inputs of the body in a Loop: the number of the trip and the condition, each in memory that is
  /// aligned as tensors are.
  alignas(kAlignment) std::int64_t iteration_ = 0;
  alignas(kAlignment) std::byte condition_{1};
  alignas(kAlignment) std::byte next_condition_[kAlignment] = {};
};

}  // namespace parallax
