// Weights, biases and peepholes of an LSTM, GRU or RNN as recurrent_loops.h reads them.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/cpu/recurrent/recurrent_loops.h"
#include "kernels/recurrent_shape.h"

namespace parallax {

/// Packed weights of all directions; accessors return those of one. Shared with other kernels.
struct RecurrentWeights {
  std::int64_t blocks = 0, lanes = 0;  ///< blocks of hidden elements, and elements of a block
  std::shared_ptr<const AlignedBytes> w, r, bias, peepholes;  ///< the last may be null
  /// The unit of each direction, or one for all; empty: weights are f32.
  std::vector<float> w_units, r_units;

  /// Returns the hidden elements, padded to whole blocks.
  std::int64_t padded() const { return blocks * lanes; }
  /// Return the packed weights W, of the inputs, and R, of the state.
  RecurrentMatrix w_of(const RecurrentShape& s, std::int64_t direction) const;
  RecurrentMatrix r_of(const RecurrentShape& s, std::int64_t direction) const;
  /// Return the biases of all gates, [blocks, gates, lanes], and those that linear_before_reset
  /// keeps separate, [blocks, lanes].
  const float* bias_of(const RecurrentShape& s, std::int64_t direction) const;
  const float* candidate_bias_of(const RecurrentShape& s, std::int64_t direction) const;
  const float* peepholes_of(std::int64_t direction) const;  ///< null if there are none
};

/// Packs the weights of a request whose weights, biases and peepholes are constants of f32; biases
/// that are left out count as zeros. Returns nullopt for other requests, and if sizes exceed 63
/// bits. Errors: kOutOfMemory.
Result<std::optional<RecurrentWeights>> recurrent_weights(const KernelRequest& request,
                                                          const RecurrentShape& s);

}  // namespace parallax
