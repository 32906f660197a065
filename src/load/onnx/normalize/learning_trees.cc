// Ensembles of trees: the old operators' lists become those of TreeEnsemble.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/learning.h"

namespace parallax {
namespace {

using IntList = std::vector<std::int64_t>;

constexpr std::array<const char*, 5> kTransforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                    "PROBIT"};
constexpr std::array<std::string_view, 6> kModes = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

/// The list `name`, as floats or as a tensor of any float.
std::vector<double> take_numbers(Rewriting& to, const std::string& name) {
  const auto floats = to.take<std::vector<float>>(name, {});
  std::vector<double> numbers(floats.begin(), floats.end());
  const Constant tensor = to.take<Constant>(name + "_as_tensor", {});
  if (tensor.bytes.empty()) return numbers;
  if (tensor.dtype == DType::kF64) {
    numbers.resize(tensor.bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  } else if (tensor.dtype == DType::kF32) {
    std::vector<float> narrow(tensor.bytes.size() / sizeof(float));
    std::memcpy(narrow.data(), tensor.bytes.data(), tensor.bytes.size());
    numbers.assign(narrow.begin(), narrow.end());
  } else {
    to.refuse(fmt::format("{}_as_tensor of type {}", name, to_string(tensor.dtype)));
  }
  return numbers;
}

Constant doubles(const std::vector<double>& list) {
  return make_constant(DType::kF64, Dims{static_cast<std::int64_t>(list.size())},
                       std::as_bytes(std::span(list)));
}

/// A node of the old form.
struct OldNode {
  std::int64_t tree, node;
  auto operator<=>(const OldNode&) const = default;
};

/// The attributes of the old operators, `votes` "class" or "target".
class OldTrees {
 public:
  OldTrees(Rewriting& to, const std::string& votes) : to_(to) {
    const auto list = [&](const std::string& name) { return to.take<IntList>(name, {}); };
    trees_ = list("nodes_treeids");
    nodes_ = list("nodes_nodeids");
    features_ = list("nodes_featureids");
    if_true_ = list("nodes_truenodeids");
    if_false_ = list("nodes_falsenodeids");
    missing_ = list("nodes_missing_value_tracks_true");
    modes_ = to.take<std::vector<std::string>>("nodes_modes", {});
    splits_ = take_numbers(to, "nodes_values");
    take_numbers(to, "nodes_hitrates");
    vote_trees_ = list(votes + "_treeids");
    vote_nodes_ = list(votes + "_nodeids");
    targets_ = list(votes + "_ids");
    weights_ = take_numbers(to, votes + "_weights");
  }

  /// The lists of TreeEnsemble.
  Attributes convert(std::int64_t targets, std::int64_t aggregate);
  const IntList& targets() const { return targets_; }
  const std::vector<double>& weights() const { return weights_; }

 private:
  bool fits() const;
  void number_nodes();
  void collect_votes(Attributes& attributes);
  void add_inner(std::size_t i);
  void add_branch(OldNode child, IntList& ids, IntList& leaves);

  Rewriting& to_;
  IntList trees_, nodes_, features_, if_true_, if_false_, missing_;
  std::vector<std::string> modes_;
  std::vector<double> splits_;
  IntList vote_trees_, vote_nodes_, targets_;
  std::vector<double> weights_;
  /// Number of each node among inner nodes, or -1 - its number among leaves.
  std::map<OldNode, std::int64_t> numbers_;
  IntList roots_;
  std::vector<OldNode> leaves_;
  // Attributes of inner nodes.
  IntList new_features_, new_missing_, true_ids_, true_leaves_, false_ids_, false_leaves_;
  std::vector<double> new_splits_;
  std::vector<std::uint8_t> new_modes_;
};

bool OldTrees::fits() const {
  const std::size_t nodes = nodes_.size(), votes = targets_.size();
  return trees_.size() == nodes && features_.size() == nodes && if_true_.size() == nodes &&
         if_false_.size() == nodes && modes_.size() == nodes && splits_.size() == nodes &&
         (missing_.empty() || missing_.size() == nodes) && vote_trees_.size() == votes &&
         vote_nodes_.size() == votes && weights_.size() == votes && nodes > 0;
}

/// The first node of a tree is its root; one that is a leaf gets an inner node above it.
void OldTrees::number_nodes() {
  std::map<std::int64_t, std::size_t> first;
  for (std::size_t i = 0; i < nodes_.size(); ++i) first.emplace(trees_[i], i);
  std::int64_t inner = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool leaf = modes_[i] == "LEAF";
    const OldNode id{trees_[i], nodes_[i]};
    const std::int64_t number = leaf ? -1 - std::ssize(leaves_) : inner;
    if (leaf) leaves_.push_back(id);
    if (!numbers_.emplace(id, number).second)
      to_.invalid(fmt::format("node {} of tree {} occurs twice", id.node, id.tree));
    const bool root = first.at(trees_[i]) == i;
    if (root) roots_.push_back(inner);
    if (!leaf || root) ++inner;
  }
}

void OldTrees::add_branch(OldNode child, IntList& ids, IntList& leaves) {
  const auto found = numbers_.find(child);
  if (found == numbers_.end()) {
    to_.invalid(fmt::format("node {} of tree {} does not exist", child.node, child.tree));
    return;
  }
  const bool leaf = found->second < 0;
  ids.push_back(leaf ? -1 - found->second : found->second);
  leaves.push_back(leaf);
}

void OldTrees::add_inner(std::size_t i) {
  const bool leaf = modes_[i] == "LEAF";
  const auto* const mode = std::ranges::find(kModes, modes_[i]);
  if (!leaf && mode == kModes.end())
    return to_.invalid(fmt::format("unknown mode {}", quote(modes_[i])));
  new_modes_.push_back(leaf ? 0 : static_cast<std::uint8_t>(mode - kModes.begin()));
  new_features_.push_back(leaf ? 0 : features_[i]);
  new_splits_.push_back(leaf ? 0 : splits_[i]);
  new_missing_.push_back(missing_.empty() ? 0 : missing_[i]);
  const std::int64_t own = nodes_[i];
  add_branch({trees_[i], leaf ? own : if_true_[i]}, true_ids_, true_leaves_);
  add_branch({trees_[i], leaf ? own : if_false_[i]}, false_ids_, false_leaves_);
}

/// Votes in the order of their leaves.
void OldTrees::collect_votes(Attributes& attributes) {
  std::vector<std::vector<std::size_t>> of_leaf(leaves_.size());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const OldNode id{vote_trees_[i], vote_nodes_[i]};
    const auto found = numbers_.find(id);
    if (found == numbers_.end() || found->second >= 0) {
      return to_.invalid(
          fmt::format("node {} of tree {} votes but is not a leaf", id.node, id.tree));
    }
    of_leaf[static_cast<std::size_t>(-1 - found->second)].push_back(i);
  }
  IntList begins, ids;
  std::vector<double> weights;
  for (const auto& votes : of_leaf) {
    begins.push_back(std::ssize(ids));
    for (const std::size_t i : votes) {
      ids.push_back(targets_[i]);
      weights.push_back(weights_[i]);
    }
  }
  attributes.set("leaf_begins", std::move(begins));
  attributes.set("leaf_targetids", std::move(ids));
  attributes.set("leaf_weights", doubles(weights));
}

Attributes OldTrees::convert(std::int64_t targets, std::int64_t aggregate) {
  Attributes attributes;
  if (!fits()) to_.invalid("lists of nodes or votes differ in length");
  if (to_.failed()) return attributes;
  number_nodes();
  std::map<std::int64_t, std::size_t> first;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool root = first.emplace(trees_[i], i).second;
    if (modes_[i] != "LEAF" || root) add_inner(i);
  }
  collect_votes(attributes);
  attributes.set("n_targets", targets);
  attributes.set("aggregate_function", aggregate);
  attributes.set("tree_roots", roots_);
  attributes.set("nodes_featureids", new_features_);
  attributes.set("nodes_missing_value_tracks_true", new_missing_);
  attributes.set("nodes_truenodeids", true_ids_);
  attributes.set("nodes_trueleafs", true_leaves_);
  attributes.set("nodes_falsenodeids", false_ids_);
  attributes.set("nodes_falseleafs", false_leaves_);
  attributes.set("nodes_splits", doubles(new_splits_));
  attributes.set("nodes_modes",
                 make_constant(DType::kU8, Dims{static_cast<std::int64_t>(new_modes_.size())},
                               std::as_bytes(std::span(new_modes_))));
  return attributes;
}

/// The sums of votes, of f32, with the base values, which are none or one for each target.
ValueId votes_of(Rewriting& to, OldTrees& trees, std::int64_t targets, std::int64_t aggregate,
                 const std::vector<double>& base) {
  const ValueId x = feature_rows(to, true);
  const ValueId votes = to.op(OpKind::kTreeEnsemble, {x}, trees.convert(targets, aggregate));
  ValueId sums = to.cast_to(votes, DType::kF32);
  if (base.empty()) return sums;
  if (std::ssize(base) != targets) {
    to.invalid("base values and targets differ in number");
    return sums;
  }
  return to.add(sums, float_list(to, {base.begin(), base.end()}, Dims{targets}));
}

}  // namespace

Status rewrite_tree_ensemble(FileNode& file) {
  Rewriting to(file);
  const auto transform = static_cast<std::uint64_t>(to.take_int("post_transform", 0));
  if (transform >= kTransforms.size()) to.invalid("post_transform is out of range");
  if (to.failed()) return to.finish();
  const ValueId votes = to.op(OpKind::kTreeEnsemble, {to.need(0)}, to.take_all());
  to.result(transformed_scores(to, votes, kTransforms[transform]));
  return to.finish();
}

Status rewrite_tree_ensemble_regressor(FileNode& file) {
  Rewriting to(file);
  constexpr std::array<std::string_view, 4> kAggregates = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = to.take_string("aggregate_function", "SUM");
  const auto* const aggregate = std::ranges::find(kAggregates, name);
  if (aggregate == kAggregates.end())
    to.invalid(fmt::format("unknown aggregate_function {}", quote(name)));
  const std::string transform = to.take_string("post_transform", "NONE");
  const std::int64_t targets = to.take_int("n_targets", 1);
  const auto base = take_numbers(to, "base_values");
  OldTrees trees(to, "target");
  const ValueId sums = votes_of(to, trees, targets, aggregate - kAggregates.begin(), base);
  to.result(transformed_scores(to, sums, transform));
  return to.finish();
}

/// If all votes of two classes are for the first, they are a single score of the second class, as
/// ONNX Runtime reads it.
Status rewrite_tree_ensemble_classifier(FileNode& file) {
  Rewriting to(file);
  const std::string transform = to.take_string("post_transform", "NONE");
  const auto labels = take_labels(to, "classlabels_int64s");
  auto base = take_numbers(to, "base_values");
  OldTrees trees(to, "class");
  const auto& ids = trees.targets();
  const bool single =
      labels.count() == 2 && !ids.empty() && std::ranges::count(ids, 0) == std::ssize(ids);
  if (!single) {
    const std::int64_t classes = labels.count();
    const ValueId scores = votes_of(to, trees, classes, 1, base);
    write_classes(to, scores, classes, labels, transform, {});
    return to.finish();
  }
  const bool positive =
      std::ranges::all_of(trees.weights(), [](double weight) { return weight >= 0; });
  if (base.size() == 2) base = {base[1]};
  ValueId score = votes_of(to, trees, 1, 1, {});
  if (base.size() == 1) score = to.add(score, base[0]);
  write_classes(to, score, 1, labels, transform,
                {.threshold = positive ? 0.5 : 0, .complement = positive});
  return to.finish();
}

}  // namespace parallax
