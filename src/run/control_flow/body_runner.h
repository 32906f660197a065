// What If, Loop and Scan have in common while they run. Internal to run/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/run.h"

namespace parallax {

Error body_error(ErrorCode code, const Node& node, std::string message);

/// A node with bodies, and what it uses of the run that it is part of.
class BodyRunner {
 public:
  BodyRunner(Run& run, NodeId id, Participant& self);
  virtual ~BodyRunner() = default;
  BodyRunner(const BodyRunner&) = delete;
  BodyRunner& operator=(const BodyRunner&) = delete;

  /// The body calls this after its last read of input `i`, whose size only running tells: the bytes
  /// may be freed. Once per input of a body that runs.
  virtual void let_go(std::size_t i) = 0;
  /// How many of the last inputs of its bodies are the same in each trip.
  std::size_t captures() const { return node_.captures; }

 protected:
  /// The bytes of input `i`, aligned to its elements, or its Object. Errors: kOutOfMemory.
  Result<const std::byte*> input(std::size_t i) const;
  const Dims& input_dims(std::size_t i) const { return run_.dims_of(node_.inputs[i]); }
  DType output_dtype(std::size_t i) const { return run_.graph().values[node_.outputs[i]].dtype; }
  /// Memory that is freed when the node is done; of an object, one that nobody reads. Errors:
  /// kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(DType dtype, const Dims& dims) {
    return allocate(arena_, dtype, dims);
  }
  Result<std::byte*> allocate(DynamicArena& arena, DType dtype, const Dims& dims);
  bool output_planned(std::size_t i) const {
    return node_.outputs[i].valid() && run_.compiled_.dims[node_.outputs[i]].has_value();
  }
  /// The dims of output `i`, which no body has given; 0 for those that the run does not know.
  Dims known_dims(std::size_t i) const { return run_.known_dims(node_.outputs[i]); }
  /// The memory of output `i` of the node. Errors: kInvalidInput if the plan was made for other
  /// dims.
  Result<std::byte*> make_output(std::size_t i, const Dims& dims);
  /// The memory of outputs whose size only running tells.
  DynamicArena& output_arena() { return run_.arena_of(id_); }
  /// Makes bytes of output_arena() output `i`. Errors: as make_output.
  Status adopt_output(std::size_t i, const Dims& dims, std::byte* bytes) {
    return run_.adopt_output(id_, node_.outputs[i], dims, bytes);
  }
  /// The node no longer reads its input `i`; call at most once for each.
  void let_go_input(std::size_t i);
  /// The node no longer reads any input.
  void let_go_inputs();
  RunLimits& limits() { return *run_.limits_; }
  /// Runs a body of the node once.
  Status run_body(std::size_t body, std::span<const std::byte* const> inputs,
                  std::span<const Dims> dims, const PlaceOutput& place);

  Run& run_;
  const NodeId id_;
  const Node& node_;
  const CompiledNode& code_;
  const std::vector<std::shared_ptr<const Program>>& bodies_;
  Participant& self_;
  std::byte* workspace_ = nullptr;
  Object unread_object_;
  DynamicArena arena_;  // memory beside the workspace, until the node is done

 private:
  std::optional<std::size_t> released_root(ValueId input) const;
  /// By index of CompiledNode::releases: how many inputs of the node may still read it.
  std::vector<int> reads_;
  std::vector<std::shared_ptr<RunBuffers>> buffers_;  ///< of each body, from trip to trip
};

/// Runs a Loop or a Scan. Errors: those of the body; kInvalidInput if the sizes of its inputs and
/// outputs do not fit each other; kLimitExceeded, kBudgetExceeded, kOutOfMemory.
Status run_loop(Run& run, NodeId node, Participant& self);

}  // namespace parallax
