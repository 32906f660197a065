// Kernels of nodes that read or make objects (parallax/object.h). Unlike those for tensors they run
// on one thread, allocate while running, and charge what they allocate to the budget of the run.
//
// Thread-safe: kernels are functions of their arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "parallax/object.h"

namespace parallax {

/// Memory budget of a run. Thread-safe.
class ObjectMemory {
 public:
  virtual ~ObjectMemory() = default;
  /// Charges bytes that are about to be allocated to the budget; they are released with the last
  /// copy of the result. Errors: kBudgetExceeded.
  virtual Result<std::shared_ptr<const void>> take(std::int64_t bytes) = 0;
};

/// Arguments of one call of a kernel; references are valid during the call only.
struct ObjectCall {
  const Node& node;
  /// One per input of the node; nullopt if it is left out. Tensors are views of memory that may be
  /// overwritten as soon as the kernel has returned.
  std::span<const std::optional<Object>> inputs;
  std::span<const DType> output_types;  ///< one per output, as inferred for the graph
  ObjectMemory& memory;
  std::vector<Object>& outputs;  ///< one per output of the node, filled by the kernel

  /// Returns null if input i is left out or the node has fewer inputs.
  const Object* input(std::size_t i) const {
    return i < inputs.size() && inputs[i] ? &*inputs[i] : nullptr;
  }
};

/// Computes a node. Errors: kInvalidInput, kOutOfRange, kBudgetExceeded, kOutOfMemory,
/// kUnsupported; they need not name the node.
using ObjectKernel = Status (*)(const ObjectCall& call);
/// Returns the kernel of an operator; null if it has kernels for tensors of numbers alone.
ObjectKernel object_kernel(OpKind kind);

// Helpers that kernels of several operators share.

/// Makes an error of stage kRun whose message names the operator.
Error object_error(const ObjectCall& call, ErrorCode code, std::string message);
/// Allocates a tensor of numbers if the budget has room for it. The charge ends on return: pass the
/// filled tensor to counted(). Errors: kBudgetExceeded, kOutOfMemory.
Result<Tensor> take_tensor(const ObjectCall& call, DType dtype, const Dims& dims);
/// Makes an object of a tensor and charges its bytes for as long as the object lives. Errors:
/// kBudgetExceeded.
Result<Object> counted(const ObjectCall& call, Tensor tensor);
/// Copies a tensor of numbers, so that the result owns its memory; other objects own theirs and are
/// returned as they are. Errors: kBudgetExceeded, kOutOfMemory.
Result<Object> owned(const ObjectCall& call, const Object& tensor);
/// Makes a tensor of strings and charges their bytes. REQUIRES: as many strings as `dims` has
/// elements. Errors: kBudgetExceeded, kOutOfMemory.
Result<Object> make_object(const ObjectCall& call, const Dims& dims,
                           std::vector<std::string> strings);
/// Returns the only element of input i, an i64 or i32. REQUIRES: the input is present. Errors:
/// kInvalidInput for other types or sizes.
Result<std::int64_t> integer_input(const ObjectCall& call, std::size_t i);
/// Returns the elements of a tensor of i64, i32 or bool. Errors: kInvalidInput for other types.
Result<std::vector<std::int64_t>> integers_of(const ObjectCall& call, const Object& tensor);

}  // namespace parallax
