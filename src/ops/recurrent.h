// Attributes of LSTM, GRU and RNN as values, for inference and kernels. Pure functions.
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

struct GateActivation {
  GateFunction function = GateFunction::kTanh;
  float alpha = 0, beta = 0;  ///< parameters of the function; 0 if it has none
  friend bool operator==(const GateActivation&, const GateActivation&) = default;
};

/// Inputs of the three; RNN and GRU end before initial_c.
struct RecurrentInput {
  static constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5,
                               kInitialC = 6, kPeepholes = 7;
};

struct Recurrence {
  int gates = 1;       ///< that W and R have rows for: 4 of LSTM (iofc), 3 of GRU (zrh), 1
  int directions = 1;  ///< 2: forward, then reverse
  bool first_reverse = false;
  bool batch_first = false;  ///< layout 1
  bool input_forget = false, linear_before_reset = false;
  /// Inputs of activations are held within [-clip, clip].
  float clip = std::numeric_limits<float>::infinity();
  /// f, g and h of each direction.
  std::array<std::array<GateActivation, 3>, 2> activations{};

  bool reverse(std::int64_t direction) const { return direction == 1 || first_reverse; }
};
/// Errors: kInvalidModel, of what the standard does not allow and read_params() does not refuse.
Result<Recurrence> recurrence_of(const Node& node);

}  // namespace parallax
