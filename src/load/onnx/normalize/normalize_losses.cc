// Losses, from gathering, logarithms and sums.
#include <optional>
#include <string>

#include "base/status.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {
namespace {

/// Inputs of both losses besides the scores.
struct Targets {
  ValueId target, weight;  ///< weight: of each class, may be left out
  std::optional<std::int64_t> ignored;
  std::string reduction;
};

Targets take_targets(Rewriting& to) {
  Targets targets{.target = to.need(1), .weight = to.in(2), .ignored = {}, .reduction = {}};
  if (to.file().node.attributes.find("ignore_index") != nullptr)
    targets.ignored = to.take_int("ignore_index", 0);
  targets.reduction = to.take_string("reduction", "mean");
  if (targets.reduction != "none" && targets.reduction != "mean" && targets.reduction != "sum")
    to.invalid("reduction must be none, mean or sum");
  return targets;
}

ValueId sum_all(Rewriting& to, ValueId x) {
  return to.op(OpKind::kReduceSum, {x}, attributes_of({{"keepdims", std::int64_t{0}}}));
}

/// -weight[target] * scores[target]; 0 where the target is to be ignored, whatever stands there.
void write_loss(Rewriting& to, ValueId scores, const Targets& targets) {
  ValueId target = targets.target, skipped;
  if (targets.ignored) {
    const ValueId ignored = to.cast_to(to.int_number(*targets.ignored), to.dtype(target));
    skipped = to.op(OpKind::kEqual, {target, ignored});
    target = to.op(OpKind::kWhere, {skipped, to.number(0, target), target});
  }
  const ValueId picked =
      to.op(OpKind::kGatherElements, {scores, to.unsqueeze(target, {1})}, with_axis(1));
  ValueId loss = to.op(OpKind::kNeg, {to.squeeze(picked, {1})});
  ValueId weight = targets.weight;
  if (weight.valid()) {
    weight = to.op(OpKind::kGather, {weight, target});
    loss = to.mul(loss, weight);
  }
  if (skipped.valid()) {
    const ValueId none = to.number(0, loss);
    loss = to.op(OpKind::kWhere, {skipped, none, loss});
    const ValueId whole = weight.valid() ? weight : to.number(1, loss);
    weight = to.op(OpKind::kWhere, {skipped, none, whole});
  }
  if (targets.reduction == "none") return to.result(loss);
  if (targets.reduction == "sum") return to.result(sum_all(to, loss));
  if (!weight.valid()) {
    return to.result(OpKind::kReduceMean, {loss}, attributes_of({{"keepdims", std::int64_t{0}}}));
  }
  to.result(OpKind::kDiv, {sum_all(to, loss), sum_all(to, weight)});
}

}  // namespace

Status rewrite_likelihood_loss(FileNode& file) {
  Rewriting to(file);
  const ValueId scores = to.need(0);
  write_loss(to, scores, take_targets(to));
  return to.finish();
}

Status rewrite_cross_entropy_loss(FileNode& file) {
  Rewriting to(file);
  const ValueId logits = to.need(0);
  const Targets targets = take_targets(to);
  const ValueId scores = to.op(OpKind::kLogSoftmax, {logits}, with_axis(1));
  write_loss(to, scores, targets);
  to.output(1, scores);
  return to.finish();
}

}  // namespace parallax
