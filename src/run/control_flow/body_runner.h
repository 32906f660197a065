// The common part of running If, Loop and Scan. Internal to run/.
//
// Thread-safety: the thread that runs the node calls everything, except let_go().
//
// A body's branches run one after the other on the thread of the node; tiles of its nodes are
// shared with the threads of the run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/run.h"

namespace parallax {

/// Returns an error of a node with bodies, stage kRun. The message begins with the operator, the
/// error has the node's name.
Error body_error(ErrorCode code, const Node& node, std::string message);

/// Runs a node with bodies, inside a run. Lives while the node runs.
class BodyRunner {
 public:
  /// `self`: the thread that runs the node. `run` and `self` must outlive it. Finds the workspace
  /// and counts the readers of each input.
  BodyRunner(Run& run, NodeId id, Participant& self);
  virtual ~BodyRunner() = default;
  BodyRunner(const BodyRunner&) = delete;
  BodyRunner& operator=(const BodyRunner&) = delete;

  /// Releases input `i` of a body, one whose size is known only at run time. The thread that reads
  /// it last calls this, once for each run of the body; the bytes may then be freed. `i` counts the
  /// inputs of the body.
  virtual void let_go(std::size_t i) = 0;
  /// Returns the number of values that the bodies capture. They are the last inputs of each body,
  /// and stay the same in every trip.
  std::size_t captures() const { return node_.captures; }

 protected:
  /// Returns the address of input `i`: of its bytes, aligned to an element, or of its Object.
  /// Errors: kOutOfMemory. A constant that is not aligned in the file is copied once, for all runs.
  /// Valid until the input is released. REQUIRES: the input is present.
  Result<const std::byte*> input(std::size_t i) const;
  /// Return the dims of an input, which are known by now, and the type of the elements of an
  /// output; the output must be present.
  const Dims& input_dims(std::size_t i) const { return run_.dims_of(node_.inputs[i]); }
  DType output_dtype(std::size_t i) const { return run_.graph().values[node_.outputs[i]].dtype; }
  /// Returns memory that is freed when the node is done. For a type that is no tensor of numbers,
  /// returns the address of an Object that is never read. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(DType dtype, const Dims& dims) {
    return allocate(arena_, dtype, dims);
  }
  /// Does the same in `arena`; the caller frees the result, or leaves it to that arena.
  Result<std::byte*> allocate(DynamicArena& arena, DType dtype, const Dims& dims);
  /// Whether output `i` is used and has dims that the plan knows.
  bool output_planned(std::size_t i) const {
    return node_.outputs[i].valid() && run_.compiled_.dims[node_.outputs[i]].has_value();
  }
  /// Returns the dims that output `i` has if no body makes it, with 0 for each that is not known.
  Dims known_dims(std::size_t i) const { return run_.known_dims(node_.outputs[i]); }
  /// Returns the memory of output `i` of the node. Errors: kInvalidInput if the plan was made for
  /// other dims; kBudgetExceeded, kOutOfMemory. Planned outputs have memory from the start of the
  /// run; others get it from output_arena(). REQUIRES: the output is present.
  Result<std::byte*> make_output(std::size_t i, const Dims& dims);
  /// The memory of outputs whose size only a run determines.
  DynamicArena& output_arena() { return run_.arena_of(id_); }
  /// Uses `bytes`, allocated from output_arena(), as output `i`. Errors: as make_output(). A
  /// planned output receives a copy, and `bytes` are freed.
  Status adopt_output(std::size_t i, const Dims& dims, std::byte* bytes) {
    return run_.adopt_output(id_, node_.outputs[i], dims, bytes);
  }
  /// Releases input `i` of the node, which it no longer reads; call it at most once for each. Bytes
  /// are freed once every input of the node that reads them was released.
  void let_go_input(std::size_t i);
  /// Releases all inputs that are not released yet.
  void let_go_inputs();
  /// Returns the limits that the run and all its bodies share.
  RunLimits& limits() { return *run_.limits_; }
  /// Runs body number `body` of the node once. `inputs` and `dims`: one for each input of the body;
  /// `place` returns the memory of each output of the body. Errors: those of the body and of
  /// `place`. Stops early if the run has failed. Waits for the steps that the body has begun. Its
  /// trace is added to that of the run around it, up to a limit of events.
  Status run_body(std::size_t body, std::span<const std::byte* const> inputs,
                  std::span<const Dims> dims, const PlaceOutput& place);

  Run& run_;
  const NodeId id_;
  const Node& node_;
  const CompiledNode& code_;
  const std::vector<std::shared_ptr<const Program>>& bodies_;
  Participant& self_;
  std::byte* workspace_ = nullptr;  // planned memory of the node; null if it has none
  Object unread_object_;
  DynamicArena arena_;  // memory in addition to the workspace, until the node is done

 private:
  std::optional<std::size_t> released_root(ValueId input) const;
  /// Number of inputs of the node that may still read each of CompiledNode::releases.
  std::vector<int> reads_;
  std::vector<std::shared_ptr<RunBuffers>> buffers_;  ///< buffers of each body, for all trips
};

/// Runs a Loop or a Scan. Errors: those of the body; kInvalidInput if the sizes of its inputs and
/// outputs do not fit each other; kLimitExceeded, kBudgetExceeded, kOutOfMemory. Blocks until the
/// last trip.
Status run_loop(Run& run, NodeId node, Participant& self);

}  // namespace parallax
