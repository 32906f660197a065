// A Loop or a Scan while it runs: trips of a body, values carried from one to the next, slices of
// inputs and outputs. Internal to run/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/control_flow.h"
#include "run/control_flow/body_runner.h"
#include "run/control_flow/slices.h"

namespace parallax {

class LoopRunner : public BodyRunner {
 public:
  using BodyRunner::BodyRunner;

  Status run();
  void let_go(std::size_t i) override;

 private:
  /// A value from trip to trip: at first where the node's input lies, then in one of two buffers in
  /// turn, the first of which is the node's output. One whose size only running tells gets a block
  /// of output_arena() in each trip; the block of the trip before goes with its last reader. An
  /// object is in one of two places in turn.
  struct Carried {
    const std::byte* bytes = nullptr;
    Dims dims;
    std::byte* buffers[2] = {nullptr, nullptr};
    int next = 0;
    std::byte* written = nullptr;  ///< by this trip
    Dims written_dims;
    std::byte* owned = nullptr;  ///< `bytes`, where they are a block
    bool gone = false;           ///< `bytes` are read no more
    bool kept = false;           ///< the body gives back what it gets
    Object objects[2];           ///< `buffers` of an object
    bool is_object = false;
    bool planned = false;  ///< into the buffers, which may be null where it has no bytes
  };
  struct ScanInput {
    const std::byte* bytes = nullptr;
    ScanAxis axis;
    Slices slices;
    std::byte* slice = nullptr;  ///< null: read in place
  };
  struct ScanOutput {
    bool started = false;
    bool read = true;  ///< false: it is not used, each slice overwrites the last
    Dims slice_dims;
    DType dtype = DType::kF32;
    ScanAxis axis;
    std::byte* bytes = nullptr;
    std::int64_t room = 0;       ///< slices
    std::byte* slice = nullptr;  ///< null: written in place
    std::int64_t slice_bytes = 0;
  };

  const Graph& body() const { return bodies_[0]->compiled().graph(); }
  std::byte* planned(std::int64_t offset) const {
    return offset < 0 ? nullptr : workspace_ + offset;
  }

  Status begin();
  Status begin_counters();
  Status begin_carried(std::size_t i);
  Status begin_scan_input(std::size_t i);
  Status begin_scan_output(std::size_t i);
  Status run_trip(std::int64_t trip);
  Result<std::byte*> place(std::size_t output, DType dtype, const Dims& dims, std::int64_t trip);
  Result<std::byte*> place_carried(Carried& carried, DType dtype, const Dims& dims);
  Result<std::byte*> place_slice(std::size_t i, DType dtype, const Dims& dims, std::int64_t trip);
  Status start_scan_output(std::size_t i, DType dtype, const Dims& dims);
  Status make_room(ScanOutput& output, std::int64_t slices);
  void let_go_carried(std::size_t i);
  void take_results(std::int64_t trip);
  void take_carried(std::size_t i);
  Status end(std::int64_t trips);
  std::int64_t position(const ScanAxis& axis, std::int64_t trip) const {
    return axis.reverse ? *limit_ - 1 - trip : trip;
  }

  LoopParts parts_;
  std::optional<std::int64_t> limit_;
  bool exact_ = false;  ///< the body runs limit_ times
  bool goes_on_ = true;
  std::vector<Carried> carried_;
  std::vector<ScanInput> scan_inputs_;
  std::vector<ScanOutput> scan_outputs_;
  std::vector<const std::byte*> inputs_;
  std::vector<Dims> dims_;
  alignas(kAlignment) std::int64_t iteration_ = 0;
  alignas(kAlignment) std::byte condition_{1};
  alignas(kAlignment) std::byte next_condition_[kAlignment] = {};
};

}  // namespace parallax
