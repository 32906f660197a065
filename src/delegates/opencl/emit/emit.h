// Turns a node with concrete sizes into kernel launches. Not thread-safe: Binder (bind.cc) makes an
// Emission for each step that is a node, while it binds a region, on the thread that binds; no
// device is called. Nodes fused into one step share an Emission; views and elementwise chains have
// none. Binder also makes one with an empty node for each output that is copied, unless the output
// is widened from f16.
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

/// A tensor of a step: its type and sizes, and its place, which is an index into the memory
/// locations of the binding: buffers, inputs and outputs.
struct Operand {
  TensorDesc desc;
  /// -1: the operand has no memory on the device.
  std::int32_t place = -1;
  std::int64_t first = 0;  ///< its first element in the place
};

/// Provides memory that steps need in addition to their tensors. Results are indices of places in
/// the binding. Memory is allocated after the last step.
class StepMemory {
 public:
  virtual ~StepMemory() = default;
  /// Stores bytes that are known now and that the device reads in every run. The bytes are copied;
  /// tables begin at multiples of 64 bytes. They live as long as the binding.
  virtual std::int32_t table(std::span<const std::byte> bytes) = 0;
  /// Reserves memory for the duration of this step. Its contents are unspecified; other steps may
  /// use the same bytes.
  virtual std::int32_t scratch(std::int64_t bytes) = 0;
  /// Returns a 32-bit word in which kernels report an index out of range. All steps of a binding
  /// share it. A run sets it to 0 first, and ends with kOutOfRange if it is not 0 afterwards.
  virtual std::int32_t fault() = 0;
};

/// The steps after a product or convolution: scale the sums, add `c` if it is present, apply the
/// activation `then`. Only products and convolutions have one: find_steps() (steps.h) fuses the
/// nodes that follow. The scale is 1 except for a MatMul.
struct Finish {
  float scale = 1;
  Operand c;
  ActivationArgument then;
};

/// One step: a node, and the launches that are emitted for it. `node`, `memory` and `kernels` must
/// outlive it. `node` is empty for a copy of an output, which emit_view() emits.
struct Emission {
  const Node& node;
  std::vector<Operand> inputs, outputs;
  Finish finish;
  StepMemory& memory;
  const KernelSpecs& kernels;
  /// Matrix products use the kernel through local memory if true, otherwise the one without it.
  /// True for GPUs by default (RegionOptions).
  bool through_local_memory = false;
  /// Float tensors are stored as f16, and their `desc.dtype` is kF16; `desc.data` of known ones is
  /// still f32. Sums are 32-bit in any case.
  bool half = false;
  /// Value that identifies this step in a reported fault. Its number in the binding, from 1,
  /// because 0 stands for no fault.
  std::int32_t mark = 1;
  std::vector<Launch> launches = {};

  /// Return whether input or output `i` exists. An index beyond the list counts as absent.
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].desc.present; }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].desc.present; }
  /// Return the dims of an input or output. REQUIRES: the index is in the list.
  const Dims& in(std::size_t i) const { return inputs[i].desc.dims; }
  const Dims& out(std::size_t i = 0) const { return outputs[i].desc.dims; }

  /// Returns the tensor as an argument, from element `first` on; without a place if it is left out.
  /// `first` counts elements.
  TensorArgument input(std::size_t i, std::int64_t first = 0) const;
  TensorArgument output(std::size_t i = 0, std::int64_t first = 0) const;
  /// Store constants that kernels index as 32-bit integers or floats. The entries are copied.
  TensorArgument table(std::span<const std::int32_t> entries);
  TensorArgument table(std::span<const float> entries);
  /// Stores floats in the format of tensors: 16 bits if `half`.
  TensorArgument tensor_table(std::span<const float> elements);
  /// Reserves memory for `floats` elements in the format of tensors: 2 bytes each if `half`, else
  /// 4.
  TensorArgument scratch(std::int64_t floats);
  /// Appends a launch. Does nothing if a number of groups is 0. `groups`: work-groups by axis.
  /// `arguments` must match the kernel's signature, which Binder checks. Grids larger than the
  /// device allows are divided later.
  void launch(KernelId kernel, std::array<std::size_t, 3> groups, std::vector<Argument> arguments);
};
/// Returns the operand as an argument, from element `first` on.
TensorArgument argument_of(const Operand& operand, std::int64_t first = 0);

/// Returns the elements of an i64 or i32 tensor whose bytes are known; empty for a tensor without
/// elements. Errors: kUnsupported if the bytes are not known, or for other element types.
/// REQUIRES: the operand is present.
Result<std::vector<std::int64_t>> known_integers(const Operand& operand);

/// Return an error: kUnsupported for a case that no kernel covers, kInvalidInput for a
/// contradictory step. Stage kCompile and kRun respectively; the binder adds the node's name.
tl::unexpected<Error> not_covered(std::string message);
tl::unexpected<Error> bad_step(std::string message);

/// Copies elements: `to` with its strides receives those of `from` with its strides, for all
/// indices of `dims`. Strides are in elements; a stride of 0 repeats an element of `from`. Source
/// and destination must not overlap. Elements of 2 or 4 bytes are moved four at a time if both
/// sides are contiguous and start at multiples of four.
void emit_move(Emission& e, Dims dims, TensorArgument from, Strides from_strides, TensorArgument to,
               Strides to_strides);

/// Emits the launches of one node. Errors: kUnsupported for cases that no kernel covers,
/// kInvalidInput for operands that contradict each other. A node whose result has no elements needs
/// no launch.
using EmitFunction = Status (*)(Emission& e);

}  // namespace parallax::opencl
