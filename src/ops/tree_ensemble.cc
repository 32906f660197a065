#include "ops/tree_ensemble.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "ops/common.h"
#include "ops/params/tree_ensemble.h"

namespace parallax {
namespace {

using IntList = std::vector<std::int64_t>;
using TreeParams = TreeEnsembleParams;

template <class T>
void append(const Constant& constant, std::vector<double>& values) {
  std::vector<T> typed(constant.bytes.size() / sizeof(T));
  if (!typed.empty()) std::memcpy(typed.data(), constant.bytes.data(), typed.size() * sizeof(T));
  values.assign(typed.begin(), typed.end());
}

/// Returns the elements of a tensor attribute; empty if it is left out.
Result<std::vector<double>> numbers(const Node& node, const TreeParams& params,
                                    std::optional<Constant> TreeParams::*member) {
  std::vector<double> values;
  const std::optional<Constant>& tensor = params.*member;
  if (!tensor) return values;
  switch (tensor->dtype) {
    case DType::kF32:
      append<float>(*tensor, values);
      return values;
    case DType::kF64:
      append<double>(*tensor, values);
      return values;
    case DType::kU8:
      append<std::uint8_t>(*tensor, values);
      return values;
    default:
      return refuse(node,
                    fmt::format("{} of type {}", param_name(member), to_string(tensor->dtype)),
                    ErrorCode::kUnsupported);
  }
}

bool in_range(std::int64_t index, std::size_t size) {
  return index >= 0 && static_cast<std::uint64_t>(index) < size;
}

template <class T>
tl::unexpected<Error> out_of_range(const Node& node, T TreeParams::*member, std::int64_t value) {
  return refuse(node, fmt::format("{} holds {}, which is out of range", param_name(member), value));
}

/// Sets of members, in the order of the nodes that test them, each ended by a NaN.
Status read_members(const Node& node, const TreeParams& params, TreeEnsemble& trees) {
  PX_ASSIGN(trees.members, numbers(node, params, &TreeParams::membership_values));
  const auto all = static_cast<std::int64_t>(trees.members.size());
  std::int64_t next = 0;
  for (TreeNode& inner : trees.nodes) {
    if (inner.test != TreeTest::kMember) continue;
    if (next >= all) return refuse(node, "membership_values has too few sets");
    inner.members.begin = next;
    while (next < all && !std::isnan(trees.members[static_cast<std::size_t>(next)])) ++next;
    inner.members.end = next++;
  }
  return {};
}

Status read_leaves(const Node& node, const TreeParams& params, TreeEnsemble& trees) {
  trees.targets = params.leaf_targetids;
  PX_ASSIGN(trees.weights, numbers(node, params, &TreeParams::leaf_weights));
  trees.target_count = params.n_targets;
  if (trees.target_count < 1) return out_of_range(node, &TreeParams::n_targets, trees.target_count);
  if (trees.weights.size() != trees.targets.size())
    return refuse(node, "leaf_weights and leaf_targetids differ in length");
  for (const std::int64_t target : trees.targets)
    if (target < 0 || target >= trees.target_count)
      return out_of_range(node, &TreeParams::leaf_targetids, target);
  const auto votes = static_cast<std::int64_t>(trees.targets.size());
  if (!params.leaf_begins) {
    for (std::int64_t i = 0; i < votes; ++i) trees.leaves.push_back({i, i + 1});
    return {};
  }
  const IntList& begins = *params.leaf_begins;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : votes;
    if (begins[i] < 0 || begins[i] > end || end > votes)
      return out_of_range(node, &TreeParams::leaf_begins, begins[i]);
    trees.leaves.push_back({begins[i], end});
  }
  return {};
}

/// Reads the target of an answer.
Result<std::int64_t> read_branch(const Node& node, const TreeEnsemble& trees, std::int64_t id,
                                 bool leaf, IntList TreeParams::*member) {
  if (!in_range(id, leaf ? trees.leaves.size() : trees.nodes.size()))
    return out_of_range(node, member, id);
  return leaf ? -1 - id : id;
}

Status read_nodes(const Node& node, const TreeParams& params, TreeEnsemble& trees) {
  const IntList &features = params.nodes_featureids,
                &missing = params.nodes_missing_value_tracks_true,
                &if_true = params.nodes_truenodeids, &if_false = params.nodes_falsenodeids,
                &true_leaf = params.nodes_trueleafs, &false_leaf = params.nodes_falseleafs;
  PX_ASSIGN(const auto splits, numbers(node, params, &TreeParams::nodes_splits));
  PX_ASSIGN(const auto modes, numbers(node, params, &TreeParams::nodes_modes));
  const std::size_t count = features.size();
  for (const std::size_t size : {if_true.size(), if_false.size(), true_leaf.size(),
                                 false_leaf.size(), splits.size(), modes.size()}) {
    if (size != count) return refuse(node, "lists of nodes differ in length");
  }
  if (!missing.empty() && missing.size() != count)
    return refuse(node, "lists of nodes differ in length");
  trees.nodes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode& inner = trees.nodes[i];
    inner.feature = features[i];
    if (inner.feature < 0) return out_of_range(node, &TreeParams::nodes_featureids, inner.feature);
    if (!(modes[i] >= 0 && modes[i] <= static_cast<double>(TreeTest::kMember)))
      return refuse(node, "nodes_modes holds an unknown mode");
    inner.test = static_cast<TreeTest>(modes[i]);
    inner.threshold = splits[i];
    inner.missing_is_true = !missing.empty() && missing[i] != 0;
    PX_ASSIGN(inner.if_true, read_branch(node, trees, if_true[i], true_leaf[i] != 0,
                                         &TreeParams::nodes_truenodeids));
    PX_ASSIGN(inner.if_false, read_branch(node, trees, if_false[i], false_leaf[i] != 0,
                                          &TreeParams::nodes_falsenodeids));
  }
  return {};
}

/// Refuses what is no tree: walking one would never end.
Status check_trees(const Node& node, const TreeEnsemble& trees) {
  std::vector<bool> reached(trees.nodes.size());
  std::vector<std::int64_t> open = trees.roots;
  while (!open.empty()) {
    const auto id = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (reached[id]) return refuse(node, fmt::format("node {} of the trees is reached twice", id));
    reached[id] = true;
    for (const std::int64_t next : {trees.nodes[id].if_true, trees.nodes[id].if_false})
      if (next >= 0) open.push_back(next);
  }
  return {};
}

InferResult infer_tree_ensemble(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 2));
  PX_ASSIGN(const TreeEnsemble trees, read_tree_ensemble(context.node));
  const Shape& x = context.inputs[0].shape;
  for (const TreeNode& inner : trees.nodes) {
    const auto features = x[1].constant();
    if (!features || inner.feature < *features) continue;
    return fail(context, fmt::format("feature {} is out of range", inner.feature));
  }
  return one_output(context.inputs[0].dtype, {x[0], trees.target_count});
}

/// A step from node to node takes a comparison; trees are as deep as the logarithm of their nodes.
std::int64_t macs_trees(const Node& node, std::span<const Dims> inputs, std::span<const Dims>) {
  const auto params = params_of<TreeParams>(node);
  std::int64_t depth = 1;
  for (std::size_t n = params.nodes_featureids.size(); n > 0; n /= 2) ++depth;
  const std::int64_t trees = std::ssize(params.tree_roots);
  return saturating_mul(inputs[0].rank() == 0 ? 1 : inputs[0][0], saturating_mul(depth, trees));
}

}  // namespace

Result<TreeEnsemble> read_tree_ensemble(const Node& node) {
  const auto params = params_of<TreeParams>(node);
  TreeEnsemble trees;
  const std::int64_t votes = params.aggregate_function;
  if (votes < 0 || votes > static_cast<std::int64_t>(TreeVotes::kMax))
    return out_of_range(node, &TreeParams::aggregate_function, votes);
  trees.votes = static_cast<TreeVotes>(votes);
  PX_RETURN_IF_ERROR(read_leaves(node, params, trees));
  PX_RETURN_IF_ERROR(read_nodes(node, params, trees));
  PX_RETURN_IF_ERROR(read_members(node, params, trees));
  trees.roots = params.tree_roots;
  for (const std::int64_t root : trees.roots)
    if (!in_range(root, trees.nodes.size()))
      return out_of_range(node, &TreeParams::tree_roots, root);
  PX_RETURN_IF_ERROR(check_trees(node, trees));
  return trees;
}

const OpDef& op_def_TreeEnsemble() {
  static const OpDef def = [] {
    OpDef d(OpKind::kTreeEnsemble, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 5;  // set of ai.onnx.ml
    d.attributes = attributes_of<TreeParams>();
    d.infer = infer_tree_ensemble;
    d.macs = macs_trees;
    return d;
  }();
  return def;
}

}  // namespace parallax
