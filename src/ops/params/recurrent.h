// Attributes of LSTM, GRU and RNN.
#pragma once

#include "ops/params/params.h"

namespace parallax {

enum class RecurrentDirection : std::uint8_t { kForward, kReverse, kBidirectional };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<RecurrentDirection> = {
    "forward", "reverse", "bidirectional"};

struct RecurrentParams {
  RecurrentDirection direction = RecurrentDirection::kForward;
  bool batch_first = false;
  std::optional<std::int64_t> hidden_size;
  std::optional<float> clip;
  /// The functions of each direction, one after the other; empty: the operator's own. Those that
  /// have an alpha or a beta take the next of the list each, or their default after its end.
  std::vector<std::string> activations;
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

struct LstmParams : RecurrentParams {
  bool input_forget = false;

  template <class Visitor>
  void visit(Visitor& v) {
    RecurrentParams::visit(v);
    v("input_forget", input_forget);
  }
};

struct GruParams : RecurrentParams {
  std::int64_t linear_before_reset = 0;  ///< any other number than 0: yes

  template <class Visitor>
  void visit(Visitor& v) {
    RecurrentParams::visit(v);
    v("linear_before_reset", linear_before_reset);
  }
};

}  // namespace parallax
