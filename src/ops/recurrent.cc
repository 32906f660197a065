// LSTM, GRU and RNN.
#include "ops/recurrent.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ops/common.h"
#include "ops/params/recurrent.h"

namespace parallax {

namespace {

/// A function, which of alpha and beta it reads, and what these are by default: as the operators of
/// that name have it, else what changes nothing.
struct GateRow {
  std::string_view name;
  GateFunction function;
  bool has_alpha, has_beta;
  float alpha, beta;
};
constexpr std::array kGateRows = {
    GateRow{"affine", GateFunction::kAffine, true, true, 1, 0},
    GateRow{"elu", GateFunction::kElu, true, false, 1, 0},
    GateRow{"hardsigmoid", GateFunction::kHardSigmoid, true, true, 0.2F, 0.5F},
    GateRow{"leakyrelu", GateFunction::kLeakyRelu, true, false, 0.01F, 0},
    GateRow{"relu", GateFunction::kRelu, false, false, 0, 0},
    GateRow{"scaledtanh", GateFunction::kScaledTanh, true, true, 1, 1},
    GateRow{"sigmoid", GateFunction::kSigmoid, false, false, 0, 0},
    GateRow{"softplus", GateFunction::kSoftplus, false, false, 0, 0},
    GateRow{"softsign", GateFunction::kSoftsign, false, false, 0, 0},
    GateRow{"tanh", GateFunction::kTanh, false, false, 0, 0},
    GateRow{"thresholdedrelu", GateFunction::kThresholdedRelu, true, false, 1, 0},
};

/// Exporters write names in capitals and small letters.
const GateRow* find_gate_row(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const row = std::ranges::find(kGateRows, name, &GateRow::name);
  return row == kGateRows.end() ? nullptr : row;
}

/// The next of the values that functions consume in their order.
float next_value(const std::vector<float>& values, std::size_t& used, float fallback) {
  return used < values.size() ? values[used++] : fallback;
}

int functions_of(OpKind op) { return op == OpKind::kLSTM ? 3 : op == OpKind::kGRU ? 2 : 1; }

/// Sigmoid for gates, Tanh for the rest.
std::vector<std::string> default_functions(OpKind op, int directions) {
  std::vector<std::string> names;
  for (int direction = 0; direction < directions; ++direction) {
    if (op != OpKind::kRNN) names.emplace_back("Sigmoid");
    names.emplace_back("Tanh");
    if (op == OpKind::kLSTM) names.emplace_back("Tanh");
  }
  return names;
}

Status read_activations(const Node& node, RecurrentParams params, Recurrence& result) {
  const auto per_direction = static_cast<std::size_t>(functions_of(node.op));
  const std::size_t wanted = per_direction * static_cast<std::size_t>(result.directions);
  std::vector<std::string> names = std::move(params.activations);
  if (names.empty()) names = default_functions(node.op, result.directions);
  // RNN has two by default, also with one direction.
  const bool spare = node.op == OpKind::kRNN && names.size() == 2;
  if (names.size() != wanted && !spare) {
    return refuse(node, fmt::format("{} activations, must be {}", names.size(), wanted));
  }
  std::size_t used_alphas = 0, used_betas = 0;
  for (std::size_t i = 0; i < wanted; ++i) {
    const GateRow* const row = find_gate_row(names[i]);
    if (row == nullptr) return refuse(node, "an activation that the standard does not name");
    GateActivation& to = result.activations[i / per_direction][i % per_direction];
    to.function = row->function;
    to.alpha = row->has_alpha ? next_value(params.alphas, used_alphas, row->alpha) : 0;
    to.beta = row->has_beta ? next_value(params.betas, used_betas, row->beta) : 0;
  }
  return {};
}

}  // namespace

Result<Recurrence> recurrence_of(const Node& node) {
  Recurrence result;
  result.gates = node.op == OpKind::kLSTM ? 4 : node.op == OpKind::kGRU ? 3 : 1;
  auto params = params_of<RecurrentParams>(node);
  result.directions = params.direction == RecurrentDirection::kBidirectional ? 2 : 1;
  result.first_reverse = params.direction == RecurrentDirection::kReverse;
  result.batch_first = params.batch_first;
  const auto lstm = params_of<LstmParams>(node);
  result.input_forget = lstm.input_forget;
  result.cell_clip = lstm.cell_clip.value_or(result.cell_clip);
  result.linear_before_reset = params_of<GruParams>(node).linear_before_reset != 0;
  result.clip = params.clip.value_or(result.clip);
  if (!(result.clip >= 0) || !(result.cell_clip >= 0))
    return refuse(node, "clip must not be negative");
  PX_RETURN_IF_ERROR(read_activations(node, std::move(params), result));
  return result;
}

namespace {

/// Refuses input i where it certainly has not this shape.
Status expect_shape(const InferContext& context, std::size_t i, const Shape& shape) {
  if (!context.has(i)) return {};
  PX_RETURN_IF_ERROR(expect_rank(context, i, static_cast<int>(shape.size())));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!unify(context.inputs[i].shape[axis], shape[axis])) {
      return fail(context, fmt::format("input {} has another size in axis {}", i, axis));
    }
  }
  return {};
}

Status check_types(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    if (i == RecurrentInput::kLengths) {
      PX_RETURN_IF_ERROR(expect_dtype(context, i, dtype_bit(DType::kI32)));
    } else {
      PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    }
  }
  return {};
}

/// X [steps, batch, inputs], W [directions, gates hidden, inputs], R [directions, gates hidden,
/// hidden] and what is optional give Y [steps, directions, batch, hidden] and the last states
/// [directions, batch, hidden]; with layout 1 the batch comes first.
InferResult infer_recurrent(const InferContext& context) {
  using Rec = RecurrentInput;
  // LstmParams has all that is checked; nodes without its input_forget have the default.
  PX_ASSIGN(const auto params, read_params<LstmParams>(context));
  PX_ASSIGN(const Recurrence recurrence, recurrence_of(context.node));
  PX_RETURN_IF_ERROR(check_types(context));
  for (std::size_t i : {Rec::kX, Rec::kW, Rec::kR}) PX_RETURN_IF_ERROR(expect_rank(context, i, 3));
  const Shape& x = context.inputs[Rec::kX].shape;
  const bool batch_first = recurrence.batch_first;
  const Expr& steps = x[batch_first ? 1 : 0];
  const Expr& batch = x[batch_first ? 0 : 1];
  const Expr directions(recurrence.directions);
  const Expr hidden = context.inputs[Rec::kR].shape[2];
  if (params.hidden_size && !unify(hidden, Expr(*params.hidden_size))) {
    return fail(context, "hidden_size is not that of the weights");
  }
  const Expr rows = hidden * Expr(recurrence.gates);
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kW, {directions, rows, x[2]}));
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kR, {directions, rows, hidden}));
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kB, {directions, rows * Expr(2)}));
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kLengths, {batch}));
  const Shape state =
      batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kInitialH, state));
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kInitialC, state));
  PX_RETURN_IF_ERROR(expect_shape(context, Rec::kPeepholes, {directions, hidden * Expr(3)}));
  Shape all = batch_first ? Shape{batch, steps, directions, hidden}
                          : Shape{steps, directions, batch, hidden};
  const DType dtype = context.inputs[0].dtype;
  std::vector<InferOutput> outputs = one_output(dtype, std::move(all));
  outputs.push_back({dtype, state, {}});
  if (context.node.op == OpKind::kLSTM) outputs.push_back({dtype, state, {}});
  return outputs;
}

/// Counts those of both products of every step.
std::int64_t macs_recurrent(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  if (inputs.size() < 3 || inputs[0].rank() != 3 || inputs[1].rank() != 3 ||
      inputs[2].rank() != 3) {
    return 0;
  }
  const std::int64_t rows = saturating_mul(inputs[0][0], inputs[0][1]);
  const std::int64_t weights =
      checked_add(saturating_elements(inputs[1]), saturating_elements(inputs[2]))
          .value_or(std::numeric_limits<std::int64_t>::max());
  return saturating_mul(rows, weights);
}

OpDef recurrent(OpKind kind, int inputs, int outputs) {
  OpDef d(kind, {.work = WorkKind::kProduct,
                 .flops = PaperFlops::kTwiceMacs,
                 .nhwc = NhwcRule::kNone,
                 .rows = RowRule::kNone,
                 .form = ConformanceForm::kOwn});
  d.min_inputs = 3;
  d.max_inputs = inputs;
  d.min_outputs = 0;
  d.max_outputs = outputs;
  d.attributes = attributes_of<RecurrentParams>();
  d.infer = infer_recurrent;
  d.macs = macs_recurrent;
  return d;
}

}  // namespace

const OpDef& op_def_LSTM() {
  static const OpDef def = [] {
    OpDef d = recurrent(OpKind::kLSTM, 8, 3);
    d.attributes = attributes_of<LstmParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_GRU() {
  static const OpDef def = [] {
    OpDef d = recurrent(OpKind::kGRU, 6, 2);
    d.attributes = attributes_of<GruParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_RNN() {
  static const OpDef def = recurrent(OpKind::kRNN, 6, 2);
  return def;
}

}  // namespace parallax
