// Attributes of LSTM, GRU and RNN as files have them. recurrence_of() of ops/recurrent.h makes the
// values that inference and kernels read, with defaults filled in. It checks `clip`, `cell_clip`
// and `activations`. Inference checks `hidden_size`, and read_params() `direction` and `layout`.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Order in which the steps of the sequence are computed. kBidirectional computes both: forward
/// first, then reverse, each with weights of its own.
enum class RecurrentDirection : std::uint8_t { kForward, kReverse, kBidirectional };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<RecurrentDirection> = {
    "forward", "reverse", "bidirectional"};

/// Attributes of RNN, which LSTM and GRU have too.
struct RecurrentParams {
  /// ONNX `direction`. Another string is refused with kUnsupported.
  RecurrentDirection direction = RecurrentDirection::kForward;
  /// ONNX `layout` (since operator set 14): 1 puts the batch in front, X [batch, steps, inputs] and
  /// Y [batch, steps, directions, hidden]; 0 is [steps, batch, inputs] and [steps, directions,
  /// batch, hidden]. Other numbers: kInvalidModel.
  bool batch_first = false;
  /// ONNX `hidden_size`: elements of a state. kInvalidModel if it differs from that of the
  /// weights.
  std::optional<std::int64_t> hidden_size;
  /// ONNX `clip`: inputs of activations are held within [-clip, clip]. A negative number or NaN is
  /// kInvalidModel. Absent: no limit.
  std::optional<float> clip;
  /// ONNX `activations`: the functions of each direction, one after the other, 3 for LSTM (f, g,
  /// h), 2 for GRU (f, g), 1 for RNN (f); names in any case. Empty: the operator's own, Sigmoid for
  /// gates and Tanh for the rest. RNN may name 2 for one direction, as ONNX's default does; the
  /// second is ignored. Another count, or an unknown name: kInvalidModel.
  std::vector<std::string> activations;
  /// ONNX `activation_alpha` and `activation_beta`: values for those functions that have an alpha
  /// or a beta, in the order of `activations`; defaults for functions beyond the end of a list.
  std::vector<float> alphas, betas;

  template <class Visitor>
  void visit(Visitor& v) {
    v("direction", direction);
    v("layout", batch_first);
    v("hidden_size", hidden_size);
    v("clip", clip);
    v("activations", activations);
    v("activation_alpha", alphas);
    v("activation_beta", betas);
  }
};

/// LSTM: input, output, forget and cell gates, in this order of the rows of W, R and B.
struct LstmParams : RecurrentParams {
  /// ONNX `input_forget`: the forget gate is 1 - the input gate; its own rows do not count.
  bool input_forget = false;
  /// Parallax's own: the cell is held within [-cell_clip, cell_clip] after each step, as TFLite
  /// does. A negative number or NaN is kInvalidModel. Absent: no limit.
  std::optional<float> cell_clip;

  template <class Visitor>
  void visit(Visitor& v) {
    RecurrentParams::visit(v);
    v("input_forget", input_forget);
    v("cell_clip", cell_clip);
  }
};

/// GRU: update, reset and hidden gates, in this order of the rows of W, R and B.
struct GruParams : RecurrentParams {
  /// ONNX `linear_before_reset`; if it is not 0: the reset gate is applied to R h + Rb,
  /// not to h before the product.
  std::int64_t linear_before_reset = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    RecurrentParams::visit(v);
    v("linear_before_reset", linear_before_reset);
  }
};

}  // namespace parallax
