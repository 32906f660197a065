// What turns a node with concrete sizes into launches. Not thread-safe; one Emission for each step
// of a binding.
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

/// A tensor of a step: what is known of it, and its place in the binding.
struct Operand {
  TensorDesc desc;
  std::int32_t place = -1;
  std::int64_t first = 0;  ///< its first element there
};

/// Where steps put what they need beside their tensors. `places` are indices of the binding's list.
class StepMemory {
 public:
  virtual ~StepMemory() = default;
  /// Bytes that are known now and that the device reads in every run.
  virtual std::int32_t table(std::span<const std::byte> bytes) = 0;
  /// Memory for the time of this step.
  virtual std::int32_t scratch(std::int64_t bytes) = 0;
  /// A 32-bit word that kernels set to tell of an index out of range.
  virtual std::int32_t fault() = 0;
};

/// What a product or convolution does to its sums: first they are scaled, then `c` is added where
/// it is present.
struct Finish {
  float scale = 1;
  Operand c;
  ActivationArgument then;
};

/// One step: a node, and what is emitted for it.
struct Emission {
  const Node& node;
  std::vector<Operand> inputs, outputs;
  Finish finish;
  StepMemory& memory;
  const KernelSpecs& kernels;
  bool through_local_memory = false;  ///< which of two kernels products take
  bool half = false;                  ///< tensors of floats are kF16, except known ones
  std::int32_t mark = 1;              ///< what a fault of this step is told by
  std::vector<Launch> launches = {};

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].desc.present; }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].desc.present; }
  const Dims& in(std::size_t i) const { return inputs[i].desc.dims; }
  const Dims& out(std::size_t i = 0) const { return outputs[i].desc.dims; }

  /// The tensor as an argument, from element `first` on; none where it is left out.
  TensorArgument input(std::size_t i, std::int64_t first = 0) const;
  TensorArgument output(std::size_t i = 0, std::int64_t first = 0) const;
  TensorArgument table(std::span<const std::int32_t> entries);
  TensorArgument table(std::span<const float> entries);
  /// Floats as kernels read tensors.
  TensorArgument tensor_table(std::span<const float> elements);
  TensorArgument scratch(std::int64_t floats);
  /// Does nothing where a number of groups is 0.
  void launch(KernelId kernel, std::array<std::size_t, 3> groups, std::vector<Argument> arguments);
};
TensorArgument argument_of(const Operand& operand, std::int64_t first = 0);

/// Elements of an i64 or i32 tensor whose bytes are known. Errors: kUnsupported where they are not.
Result<std::vector<std::int64_t>> known_integers(const Operand& operand);

/// An early return for what a kernel does not do.
tl::unexpected<Error> not_covered(std::string message);
tl::unexpected<Error> bad_step(std::string message);

/// `to`, whose strides are given, becomes what `from` has at its strides.
void emit_move(Emission& e, Dims dims, TensorArgument from, Strides from_strides, TensorArgument to,
               Strides to_strides);

/// Emits the launches of one node. Errors: kUnsupported for what no kernel does, kInvalidInput for
/// operands that contradict each other.
using EmitFunction = Status (*)(Emission& e);

}  // namespace parallax::opencl
