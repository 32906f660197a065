// LSTM, GRU and RNN: computes sequences and directions one after the other, step by step.
#include "kernels/recurrent_shape.h"

#include <vector>

#include "kernels/reference/common.h"
#include "kernels/reference/gate_activation.h"

namespace parallax {
namespace {

using Rec = RecurrentInput;

/// One sequence in one direction. Weights are those of the direction; null if they are left out.
template <class T>
struct Sequence {
  const RecurrentShape& s;
  std::array<GateActivation, 3> activations;
  const T *w = nullptr, *r = nullptr, *bias = nullptr, *peepholes = nullptr;
  double *gates = nullptr, *h = nullptr, *c = nullptr;  ///< [rows()], [hidden], [hidden]

  static double held(double x, float limit) {
    const auto clip = static_cast<double>(limit);
    return x < -clip ? -clip : x > clip ? clip : x;
  }
  double gate(std::size_t function, double x) const {
    return gate_of(activations[function], held(x, s.spec.clip));
  }
  double product(const T* row, const T* x, std::int64_t n) const {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += static_cast<double>(row[i]) * static_cast<double>(x[i]);
    return sum;
  }
  double state_product(std::int64_t row) const {
    double sum = 0;
    for (std::int64_t i = 0; i < s.hidden; ++i)
      sum += static_cast<double>(r[row * s.hidden + i]) * h[i];
    return sum;
  }
  double w_bias(std::int64_t row) const {
    return bias == nullptr ? 0 : static_cast<double>(bias[row]);
  }
  double r_bias(std::int64_t row) const {
    return bias == nullptr ? 0 : static_cast<double>(bias[s.rows() + row]);
  }
  double peephole(std::int64_t gate, std::int64_t j) const {
    return peepholes == nullptr ? 0 : static_cast<double>(peepholes[gate * s.hidden + j]);
  }
  /// Sets gates = W x + Wb, and adds R h + Rb to the rows before `end`.
  void multiply(const T* x, std::int64_t end) {
    for (std::int64_t row = 0; row < s.rows(); ++row) {
      gates[row] = product(w + row * s.inputs, x, s.inputs) + w_bias(row);
      if (row < end) gates[row] += state_product(row) + r_bias(row);
    }
  }
  void step_lstm(const T* x);
  void step_gru(const T* x);
  void step_rnn(const T* x);
  void step(const T* x) {
    if (s.spec.gates == 4) return step_lstm(x);
    return s.spec.gates == 3 ? step_gru(x) : step_rnn(x);
  }
};

template <class T>
void Sequence<T>::step_lstm(const T* x) {
  const std::int64_t hidden = s.hidden;
  multiply(x, s.rows());
  for (std::int64_t j = 0; j < hidden; ++j) {
    const double i = gate(0, gates[j] + peephole(0, j) * c[j]);
    const double f =
        s.spec.input_forget ? 1 - i : gate(0, gates[2 * hidden + j] + peephole(2, j) * c[j]);
    c[j] = held(f * c[j] + i * gate(1, gates[3 * hidden + j]), s.spec.cell_clip);
    const double o = gate(0, gates[hidden + j] + peephole(1, j) * c[j]);
    h[j] = o * gate(2, c[j]);
  }
}

template <class T>
void Sequence<T>::step_gru(const T* x) {
  const std::int64_t hidden = s.hidden;
  multiply(x, 2 * hidden);
  double* const update = gates;
  double* const reset = gates + hidden;
  double* const candidate = gates + 2 * hidden;
  for (std::int64_t j = 0; j < 2 * hidden; ++j) gates[j] = gate(0, gates[j]);
  if (s.spec.linear_before_reset) {
    for (std::int64_t j = 0; j < hidden; ++j) {
      const std::int64_t row = 2 * hidden + j;
      candidate[j] += reset[j] * (state_product(row) + r_bias(row));
    }
    for (std::int64_t j = 0; j < hidden; ++j) {
      h[j] = (1 - update[j]) * gate(1, candidate[j]) + update[j] * h[j];
    }
    return;
  }
  // Keeps the old state's share of the new one before the reset gate overwrites the old state.
  double* const kept = c;
  for (std::int64_t j = 0; j < hidden; ++j) {
    kept[j] = update[j] * h[j];
    h[j] *= reset[j];
  }
  for (std::int64_t j = 0; j < hidden; ++j) {
    const std::int64_t row = 2 * hidden + j;
    candidate[j] += state_product(row) + r_bias(row);
  }
  for (std::int64_t j = 0; j < hidden; ++j)
    h[j] = (1 - update[j]) * gate(1, candidate[j]) + kept[j];
}

template <class T>
void Sequence<T>::step_rnn(const T* x) {
  multiply(x, s.hidden);
  for (std::int64_t j = 0; j < s.hidden; ++j) h[j] = gate(0, gates[j]);
}

template <class T>
const T* optional_input(const KernelArgs& args, std::size_t i, std::int64_t offset) {
  if (i >= args.inputs.size() || args.inputs[i] == nullptr) return nullptr;
  return args.in<T>(i) + offset;
}

/// Reads the initial state, or zeros if it is left out.
template <class T>
void start(const T* from, std::int64_t count, double* to) {
  for (std::int64_t j = 0; j < count; ++j)
    to[j] = from == nullptr ? 0 : static_cast<double>(from[j]);
}
template <class T>
void write(const double* from, std::int64_t count, T* to) {
  for (std::int64_t j = 0; to != nullptr && j < count; ++j) to[j] = static_cast<T>(from[j]);
}

template <class T>
Status run_sequence(const RecurrentShape& s, std::int64_t tile, const KernelArgs& args) {
  const std::int64_t direction = tile / s.batch, b = tile % s.batch;
  const auto length = sequence_length(s, args, b);
  if (!length) return run_error(ErrorCode::kInvalidInput, "a sequence is not as long as is said");
  auto* const scratch = reinterpret_cast<double*>(args.scratch.data());
  Sequence<T> sequence{s, s.spec.activations[static_cast<std::size_t>(direction)]};
  sequence.w = optional_input<T>(args, Rec::kW, direction * s.rows() * s.inputs);
  sequence.r = optional_input<T>(args, Rec::kR, direction * s.rows() * s.hidden);
  sequence.bias = optional_input<T>(args, Rec::kB, direction * 2 * s.rows());
  sequence.peepholes = optional_input<T>(args, Rec::kPeepholes, direction * 3 * s.hidden);
  sequence.gates = scratch;
  sequence.h = scratch + s.rows();
  sequence.c = sequence.h + s.hidden;
  const std::int64_t state = s.state_at(direction, b);
  start(optional_input<T>(args, Rec::kInitialH, state), s.hidden, sequence.h);
  start(optional_input<T>(args, Rec::kInitialC, state), s.hidden, sequence.c);
  T* const y = output_or_null<T>(args, 0);
  for (std::int64_t i = 0; i < *length; ++i) {
    const std::int64_t t = s.time_of(i, direction, *length);
    sequence.step(optional_input<T>(args, Rec::kX, s.x_at(t, b)));
    if (y != nullptr) write(sequence.h, s.hidden, y + s.y_at(t, direction, b));
  }
  for (std::int64_t t = *length; y != nullptr && t < s.steps; ++t)
    std::fill_n(y + s.y_at(t, direction, b), s.hidden, T{0});
  T* const last = output_or_null<T>(args, 1);
  T* const last_c = output_or_null<T>(args, 2);
  if (last != nullptr) write(sequence.h, s.hidden, last + state);
  if (last_c != nullptr) write(sequence.c, s.hidden, last_c + state);
  return {};
}

}  // namespace

KernelResult reference_recurrent(const KernelRequest& request) {
  PX_ASSIGN(const RecurrentShape s, recurrent_shape(request));
  const auto numbers = checked_mul(s.hidden, s.spec.gates + 2);
  const auto bytes = numbers ? checked_mul(*numbers, sizeof(double)) : std::nullopt;
  if (!bytes) return make_error(ErrorCode::kOutOfMemory, "a state does not fit 63 bits");
  // Without hidden elements every output is empty.
  const std::int64_t tiles = s.hidden == 0 ? 0 : s.directions() * s.batch;
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .scratch_bytes = *bytes},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                return run_sequence<T>(s, tile, args);
                              });
  });
}

}  // namespace parallax
