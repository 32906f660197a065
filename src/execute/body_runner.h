// What If, Loop and Scan have in common while they run. Internal to execute/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execute/run.h"

namespace parallax {

Error body_error(ErrorCode code, const Node& node, std::string message);

/// Bytes of a tensor; nothing where 63 bits do not suffice.
std::optional<std::int64_t> bytes_of_tensor(DType dtype, const Dims& dims);

/// What a node with bodies uses of the run that it is part of.
class BodyRunner {
 public:
  BodyRunner(Run& run, NodeId id, Participant& self);
  virtual ~BodyRunner() = default;
  BodyRunner(const BodyRunner&) = delete;
  BodyRunner& operator=(const BodyRunner&) = delete;

  /// The body has read its input `i`, whose size only running tells, for the last time: its bytes
  /// may go. Once per input of a body that runs.
  virtual void let_go(std::size_t i) = 0;

 protected:
  /// The bytes of input `i`, aligned to its elements. Errors: kOutOfMemory.
  Result<const std::byte*> input(std::size_t i) const;
  const Dims& input_dims(std::size_t i) const { return run_.dims_of(node_.inputs[i]); }
  DType output_dtype(std::size_t i) const { return run_.graph().values[node_.outputs[i]].dtype; }
  /// Memory that goes when the node is done. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(DType dtype, const Dims& dims) {
    return allocate(arena_, dtype, dims);
  }
  Result<std::byte*> allocate(DynamicArena& arena, DType dtype, const Dims& dims);
  bool output_planned(std::size_t i) const {
    return node_.outputs[i].valid() && run_.compiled_.dims[node_.outputs[i]].has_value();
  }
  /// The memory of output `i` of the node. Errors: kInvalidInput where its dims are not those that
  /// the plan was made for.
  Result<std::byte*> make_output(std::size_t i, const Dims& dims);
  /// Where outputs lie whose size only running tells.
  DynamicArena& output_arena() { return run_.arena_of(id_); }
  /// Makes bytes of output_arena() output `i`. Errors: as make_output.
  Status adopt_output(std::size_t i, const Dims& dims, std::byte* bytes) {
    return run_.adopt_output(id_, node_.outputs[i], dims, bytes);
  }
  /// The node reads its input `i` no more; call at most once for each.
  void let_go_input(std::size_t i);
  /// The node reads nothing any more.
  void let_go_inputs();
  RunLimits& limits() { return *run_.limits_; }
  /// Runs a body once.
  Status run_body(const BodyProgram& body, std::span<const std::byte* const> inputs,
                  std::span<const Dims> dims, const PlaceOutput& place);

  Run& run_;
  const NodeId id_;
  const Node& node_;
  const CompiledNode& code_;
  Participant& self_;
  std::byte* workspace_ = nullptr;
  DynamicArena arena_;  // what has no room in the workspace, until the node is done

 private:
  std::optional<std::size_t> released_root(ValueId input) const;
  std::vector<int>
      reads_;  ///< inputs of the node that it may read still, by CompiledNode::releases
};

/// Runs a Loop or a Scan. Errors: those of the body; kInvalidInput where the sizes of what it is
/// given and gives do not go together; kLimitExceeded, kBudgetExceeded, kOutOfMemory.
Status run_loop(Run& run, NodeId node, Participant& self);

}  // namespace parallax
