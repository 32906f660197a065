// Sizes of an LSTM, GRU or RNN and offsets in its tensors, for reference and CPU kernels. Pure. A
// kernel reads the shape when it is made; its tiles use the offsets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"
#include "ops/recurrent.h"

namespace parallax {

/// Shapes: W is [directions, rows, inputs], R is [directions, rows, hidden]. Rows go gate by gate,
/// `hidden` rows each: i, o, f, c of an LSTM, z, r, h of a GRU.
struct RecurrentShape {
  /// Time steps of the longest sequence, sequences, elements of X per step, elements of a state.
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  /// Attributes of the node; parameters of gates have their defaults filled in.
  Recurrence spec;

  /// Rows of W and R per direction. 4, 3 or 1 times `hidden`.
  std::int64_t rows() const { return spec.gates * hidden; }
  /// 1, or 2 for bidirectional nodes: forward first, then reverse.
  std::int64_t directions() const { return spec.directions; }

  /// Offset in X, in elements, of step `t` of sequence `b`: [steps, batch, inputs], or [batch,
  /// steps, inputs] if batch_first. The `inputs` elements of the step are contiguous. Indices are
  /// not checked.
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (spec.batch_first ? b * steps + t : t * batch + b) * inputs;
  }
  /// Offset in Y, in elements, of the hidden state of step `t`: [steps, directions, batch, hidden],
  /// or [batch, steps, directions, hidden] if batch_first. The `hidden` elements are contiguous.
  std::int64_t y_at(std::int64_t t, std::int64_t direction, std::int64_t b) const {
    const std::int64_t row = spec.batch_first ? (b * steps + t) * directions() + direction
                                              : (t * directions() + direction) * batch + b;
    return row * hidden;
  }
  /// Offset, in elements, of the state of sequence `b` in initial_h, initial_c, Y_h and Y_c:
  /// [directions, batch, hidden], or [batch, directions, hidden] if batch_first.
  std::int64_t state_at(std::int64_t direction, std::int64_t b) const {
    return (spec.batch_first ? b * directions() + direction : direction * batch + b) * hidden;
  }
  /// Returns the time index of the step that is computed as number `i` of `length`: reverse
  /// directions start at the last one. Steps from `length` on are not computed; their outputs are
  /// zeros.
  std::int64_t time_of(std::int64_t i, std::int64_t direction, std::int64_t length) const {
    return spec.reverse(direction) ? length - 1 - i : i;
  }
};

/// Reads the sizes of a node. Dimensions are those of inputs X and R, which are concrete when a
/// kernel is made. REQUIRES: shape inference accepted it, which makes the same checks. Errors:
/// kInvalidModel if attributes are not those that the operator allows.
inline Result<RecurrentShape> recurrent_shape(const KernelRequest& request) {
  Result<Recurrence> spec = recurrence_of(request.node);
  if (!spec) return tl::unexpected(std::move(spec).error());
  const Dims& x = request.inputs[RecurrentInput::kX].dims;
  RecurrentShape s;
  s.spec = *spec;
  s.steps = x[spec->batch_first ? 1 : 0];
  s.batch = x[spec->batch_first ? 0 : 1];
  s.inputs = x[2];
  s.hidden = request.inputs[RecurrentInput::kR].dims[2];
  return s;
}

/// Returns output i of a run; null if it is left out. T is the outputs' element type. Trailing
/// outputs may be missing from the request.
template <class T>
T* output_or_null(const KernelArgs& args, std::size_t i) {
  return i < args.outputs.size() ? args.out<T>(i) : nullptr;
}

/// Returns the length of sequence `b`, `steps` if sequence_lens is left out; nullopt if the input's
/// element is not in [0, steps]. sequence_lens is i32 [batch]; kernels report nullopt as
/// kInvalidInput. REQUIRES: the kernel uses sequence_lens as InputUse::kAligned, 0 <= b < s.batch.
inline std::optional<std::int64_t> sequence_length(const RecurrentShape& s, const KernelArgs& args,
                                                   std::int64_t b) {
  // Trailing inputs may be missing, others are null if they are left out.
  if (RecurrentInput::kLengths >= args.inputs.size()) return s.steps;
  const auto* const lengths = args.in<std::int32_t>(RecurrentInput::kLengths);
  if (lengths == nullptr) return s.steps;
  const std::int64_t length = lengths[b];
  if (length < 0 || length > s.steps) return std::nullopt;
  return length;
}

}  // namespace parallax
