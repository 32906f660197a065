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
  /// Counts bytes that are about to be allocated, until the last copy of the result is gone.
  /// Errors: kBudgetExceeded.
  virtual Result<std::shared_ptr<const void>> take(std::int64_t bytes) = 0;
};

struct ObjectCall {
  const Node& node;
  /// One per input of the node; nullopt if it is left out. Tensors are views of memory that may be
  /// overwritten as soon as the kernel has returned.
  std::span<const std::optional<Object>> inputs;
  std::span<const DType> output_types;  ///< as the graph says
  ObjectMemory& memory;
  std::vector<Object>& outputs;  ///< one per output of the node, filled by the kernel

  const Object* input(std::size_t i) const {
    return i < inputs.size() && inputs[i] ? &*inputs[i] : nullptr;
  }
};

/// Errors: kInvalidInput, kOutOfRange, kBudgetExceeded, kOutOfMemory; they need not name the node.
using ObjectKernel = Status (*)(const ObjectCall& call);
/// Null where only tensors of numbers have a kernel for it.
ObjectKernel object_kernel(OpKind kind);

// Helpers that kernels of several operators share.

Error object_error(const ObjectCall& call, ErrorCode code, std::string message);
/// A tensor of zeros, counted. Errors: kBudgetExceeded, kOutOfMemory.
Result<Tensor> take_tensor(const ObjectCall& call, DType dtype, const Dims& dims);
/// Gives a tensor that take_tensor() made away.
Result<Object> counted(const ObjectCall& call, Tensor tensor);
/// A copy that needs no memory of others.
Result<Object> owned(const ObjectCall& call, const Object& tensor);
/// Counts and makes a tensor of strings.
Result<Object> make_object(const ObjectCall& call, const Dims& dims,
                           std::vector<std::string> strings);
/// An input of one i64 or i32 element. Errors: kInvalidInput where it has others.
Result<std::int64_t> integer_input(const ObjectCall& call, std::size_t i);
/// Elements of i64, i32 or bool.
Result<std::vector<std::int64_t>> integers_of(const ObjectCall& call, const Object& tensor);

}  // namespace parallax
