// Sizes of an LSTM, GRU or RNN and where its tensors lie, for kernels of it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"
#include "ops/recurrent.h"

namespace parallax {

struct RecurrentShape {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  Recurrence spec;

  std::int64_t rows() const { return spec.gates * hidden; }
  std::int64_t directions() const { return spec.directions; }

  /// Offset in X, in elements, of step `t` of sequence `b`: [steps, batch, inputs], or
  /// [batch, steps, inputs] if batch_first.
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (spec.batch_first ? b * steps + t : t * batch + b) * inputs;
  }
  /// Offset in Y, in elements, of the hidden state of step `t`: [steps, directions, batch, hidden],
  /// or [batch, steps, directions, hidden] if batch_first.
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
  /// directions start at the last one.
  std::int64_t time_of(std::int64_t i, std::int64_t direction, std::int64_t length) const {
    return spec.reverse(direction) ? length - 1 - i : i;
  }
};

/// Errors: of the attributes.
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

/// Output i of a run; null where it is left out.
template <class T>
T* output_or_null(const KernelArgs& args, std::size_t i) {
  return i < args.outputs.size() ? args.out<T>(i) : nullptr;
}

/// The length of sequence `b`; nothing where it is not one.
inline std::optional<std::int64_t> sequence_length(const RecurrentShape& s, const KernelArgs& args,
                                                   std::int64_t b) {
  if (RecurrentInput::kLengths >= args.inputs.size()) return s.steps;
  const auto* const lengths = args.in<std::int32_t>(RecurrentInput::kLengths);
  if (lengths == nullptr) return s.steps;
  const std::int64_t length = lengths[b];
  if (length < 0 || length > s.steps) return std::nullopt;
  return length;
}

}  // namespace parallax
