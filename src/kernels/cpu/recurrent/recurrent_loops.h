// The inner loops of LSTM, GRU and RNN: a step of a few sequences and a part of the hidden
// elements, products and gates together in registers. Thread-safe.
//
// Hidden elements go in blocks of a vector. Weights [gates * hidden, depth] lie block after block,
// each [depth, gates, vector], with zeros for missing elements; numbers of gates, such as
// biases and products, are [blocks, gates, vector]; states are [blocks, vector].
#pragma once

#include <cstdint>

#include "ops/recurrent.h"

namespace parallax {

/// Returns the hidden elements of a block on this machine.
std::int64_t recurrent_block();

/// Rows of the left operand of a product: `depth` elements each, `stride` apart.
struct RecurrentRows {
  const float* at = nullptr;
  std::int64_t stride = 0, depth = 0;
};

/// Weights of one direction: f32, or bytes times a unit, for LSTM alone.
struct RecurrentMatrix {
  const void* at = nullptr;
  bool bytes = false;
  float unit = 1;  ///< 1 for f32
};

/// Operands of one step. Rows are sequences. The caller runs the steps of a sequence in order.
struct RecurrentStep {
  const Recurrence* spec = nullptr;
  const GateActivation* activations = nullptr;  ///< those of the direction
  /// Sequences; elements of a state, without padding.
  std::int64_t rows = 0, hidden = 0;
  std::int64_t begin = 0, end = 0;  ///< blocks that the step computes
  /// X W and the biases of X, of each row; null: `x` is multiplied here.
  const float* products = nullptr;
  /// Floats from one row's products to the next.
  std::int64_t products_stride = 0;
  /// Inputs of the step, read only if `products` is null.
  RecurrentRows x;
  RecurrentMatrix w, r;  ///< both f32 or both bytes
  /// `bias`: biases of X plus those of the state, except those that linear_before_reset keeps
  /// separate, which are `candidate_bias`. Peepholes are in the order i, o, f.
  const float *bias = nullptr, *candidate_bias = nullptr, *peepholes = nullptr;
  RecurrentRows h;        ///< the states before
  float* next = nullptr;  ///< the states after, h.stride apart; must not be `h`
  float* c = nullptr;     ///< cells, h.stride apart, in place
  /// Scratch of GRU without linear_before_reset, for a row: three states.
  float* spare = nullptr;
};
/// Computes `next` and updates `c` for the blocks [begin, end). Sequences of a call share each pass
/// over the weights.
void recurrent_step(const RecurrentStep& step);

/// Operands of X W + bias of rows in all blocks of a direction: [rows, blocks, gates, vector].
struct RecurrentProducts {
  int gates = 1;
  std::int64_t blocks = 0, rows = 0;
  RecurrentRows x;
  RecurrentMatrix w;
  const float* bias = nullptr;
  float* to = nullptr;
};
/// Writes the products to `to`. Rows may be several steps of one sequence, as these products do not
/// depend on states.
void recurrent_products(const RecurrentProducts& products);

}  // namespace parallax
