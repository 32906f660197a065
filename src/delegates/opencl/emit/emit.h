// Turns a node with concrete sizes into kernel launches. Not thread-safe: each step of a binding
// has its own Emission.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "delegates/opencl/launch.h"
#include "delegates/opencl/space.h"
#include "delegates/opencl/tuning.h"
#include "kernels/kernel.h"

namespace parallax::opencl {

/// A tensor of a step: its type and sizes, and its place in the binding.
struct Operand {
  TensorDesc desc;
  std::int32_t place = -1;
  std::int64_t first = 0;  ///< its first element in the place
};

/// Provides memory that steps need in addition to their tensors. Results are indices of places in
/// the binding.
class StepMemory {
 public:
  virtual ~StepMemory() = default;
  /// Stores bytes that are known now and that the device reads in every run.
  virtual std::int32_t table(std::span<const std::byte> bytes) = 0;
  /// Reserves memory for the duration of this step.
  virtual std::int32_t scratch(std::int64_t bytes) = 0;
  /// Returns a 32-bit word in which kernels report an index out of range.
  virtual std::int32_t fault() = 0;
};

/// The steps after a product or convolution: scale the sums, add `c` if it is present, apply the
/// activation.
struct Finish {
  float scale = 1;
  Operand c;
  ActivationArgument then;
};

/// One step: a node, and the launches that are emitted for it.
struct Emission {
  const Node& node;
  std::vector<Operand> inputs, outputs;
  Finish finish;
  StepMemory& memory;
  const KernelSpecs& kernels;
  bool through_local_memory = false;  ///< which of the two kernels products use
  bool half = false;                  ///< float tensors are kF16, except known ones
  std::int32_t mark = 1;              ///< value that identifies this step in a reported fault
  std::vector<Launch> launches = {};

  /// Return whether input or output `i` exists.
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].desc.present; }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].desc.present; }
  /// Return the dims of an input or output.
  const Dims& in(std::size_t i) const { return inputs[i].desc.dims; }
  const Dims& out(std::size_t i = 0) const { return outputs[i].desc.dims; }

  /// Returns the tensor as an argument, from element `first` on; without a place if it is left out.
  TensorArgument input(std::size_t i, std::int64_t first = 0) const;
  TensorArgument output(std::size_t i = 0, std::int64_t first = 0) const;
  /// Store constants that kernels index as 32-bit integers or floats.
  TensorArgument table(std::span<const std::int32_t> entries);
  TensorArgument table(std::span<const float> entries);
  /// Stores floats in the format of tensors: 16 bits if `half`.
  TensorArgument tensor_table(std::span<const float> elements);
  /// Reserves memory for so many floats.
  TensorArgument scratch(std::int64_t floats);
  /// Appends a launch. Does nothing if a number of groups is 0.
  void launch(KernelId kernel, std::array<std::size_t, 3> groups, std::vector<Argument> arguments);
};
/// Returns the operand as an argument, from element `first` on.
TensorArgument argument_of(const Operand& operand, std::int64_t first = 0);

/// Returns the elements of an i64 or i32 tensor whose bytes are known. Errors: kUnsupported if they
/// are not.
Result<std::vector<std::int64_t>> known_integers(const Operand& operand);

/// Return an error: kUnsupported for a case that no kernel covers, kInvalidInput for a
/// contradictory step.
tl::unexpected<Error> not_covered(std::string message);
tl::unexpected<Error> bad_step(std::string message);

/// Copies elements: `to` with its strides receives those of `from` with its strides, for all
/// indices of `dims`.
void emit_move(Emission& e, Dims dims, TensorArgument from, Strides from_strides, TensorArgument to,
               Strides to_strides);

/// Emits the launches of one node. Errors: kUnsupported for cases that no kernel covers,
/// kInvalidInput for operands that contradict each other.
using EmitFunction = Status (*)(Emission& e);

}  // namespace parallax::opencl
