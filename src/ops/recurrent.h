// Attributes of LSTM, GRU and RNN as values, checked and with defaults filled in, for inference and
// kernels. The structs that files have are in ops/params/recurrent.h, formulas of the gate
// functions in kernels/reference/gate_activation.h. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ir/graph.h"
#include "parallax/result.h"

namespace parallax {

/// The activations that the standard names for gates.
enum class GateFunction : std::uint8_t {
  kAffine,
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu,
};

/// One function of a gate. Parameters that a file leaves out have the default of the operator of
/// that name; Affine's are 1 and 0, ScaledTanh's 1 and 1, which the standard leaves open.
struct GateActivation {
  GateFunction function = GateFunction::kTanh;
  /// Parameters of the function; 0 if it has none.
  float alpha = 0, beta = 0;
  friend bool operator==(const GateActivation&, const GateActivation&) = default;
};

/// Inputs of the three; RNN and GRU end before initial_c. X [steps, batch, inputs], W [directions,
/// gates * hidden, inputs], R [directions, gates * hidden, hidden], B [directions, 2 * gates *
/// hidden] (for W, then for R), lengths of sequences [batch] (i32), states [directions, batch,
/// hidden], peepholes [directions, 3 * hidden] (input, output, forget).
struct RecurrentInput {
  static constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5,
                               kInitialC = 6, kPeepholes = 7;
};

/// The attributes of one node.
struct Recurrence {
  /// Gates that W and R have rows for: 4 of LSTM (input, output, forget, cell), 3 of GRU (update,
  /// reset, hidden), 1 of RNN.
  int gates = 1;
  /// 2: forward, then reverse.
  int directions = 1;
  /// The only direction is reverse.
  bool first_reverse = false;
  bool batch_first = false;  ///< layout 1
  bool input_forget = false, linear_before_reset = false;
  /// Inputs of activations are held within [-clip, clip].
  float clip = std::numeric_limits<float>::infinity();
  /// Cells of an LSTM are held within [-cell_clip, cell_clip].
  float cell_clip = std::numeric_limits<float>::infinity();
  /// f, g and h of each direction.
  std::array<std::array<GateActivation, 3>, 2> activations{};

  /// Returns whether direction 0 or 1 goes from the last step to the first.
  bool reverse(std::int64_t direction) const { return direction == 1 || first_reverse; }
};
/// Returns the attributes of an LSTM, GRU or RNN. Errors: kInvalidModel for a negative clip, a
/// wrong number of activations and unknown ones; inference refuses an unknown direction or layout.
Result<Recurrence> recurrence_of(const Node& node);

}  // namespace parallax
