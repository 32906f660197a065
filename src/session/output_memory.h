// Checks the memory that callers provide for outputs: views given before the run, or spans that an
// OutputAllocator returns during it. Internal to session/. Thread-safety: pure functions;
// AllocatedOutputs belongs to one run and is used by its calling thread. All errors have stage
// kSession, except those that an allocator returns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "parallax/session.h"

namespace parallax {

/// Refuses another number of views than of outputs, and memory that is null, not aligned, or
/// overlaps an input or another output. Errors: kInvalidInput. Alignment is that of the element
/// type of the view; memory may be null for an empty view. Dtypes and dims are checked later, by
/// bytes_of_view(). Inputs that are Objects are not compared.
Status check_outputs(const Graph& graph, std::span<const NamedInput> inputs,
                     std::span<const MutableTensorView> outputs);

/// Returns the memory of the view for an output that has these dims. Errors: kInvalidInput if the
/// view has another dtype, other dims or another size. Called when the run knows the dims of the
/// output. The memory must have exactly the bytes of a dense tensor.
Result<std::byte*> bytes_of_view(const Graph& graph, int output, const MutableTensorView& view,
                                 DType dtype, const Dims& dims);

/// The outputs of one run that an allocator provides. References outlive the run.
class AllocatedOutputs {
 public:
  /// `inputs`: those of the run, which outputs must not overlap. `allocate` is not empty.
  AllocatedOutputs(const Graph& graph, std::span<const NamedInput> inputs,
                   const Session::OutputAllocator& allocate)
      : graph_(graph), inputs_(inputs), allocate_(allocate), outputs_(graph.outputs.size()) {}

  /// Returns the checked memory of the output; memory that it has for these dims is used again.
  /// Errors: those of the allocator; kInvalidInput for memory that the output cannot have;
  /// kOutOfMemory or kInternal if the allocator throws. A run that starts again may thus call it
  /// twice for an output, and the allocator only if the dims differ. The memory stays the caller's,
  /// also if the run fails.
  Result<std::byte*> place(int output, DType dtype, const Dims& dims);

 private:
  /// The memory of one output; `placed` is false until the allocator has returned valid memory.
  struct Output {
    bool placed = false;
    MutableTensorView view;
  };
  const Graph& graph_;
  const std::span<const NamedInput> inputs_;
  const Session::OutputAllocator& allocate_;
  std::vector<Output> outputs_;  ///< in the model's order
};

}  // namespace parallax
