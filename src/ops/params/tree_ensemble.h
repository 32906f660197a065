// Attributes of TreeEnsemble (of ai.onnx.ml, since its set 5), unchecked: read_tree_ensemble() of
// ops/tree_ensemble.h checks them and makes the trees that inference and kernels read. Older
// operators for trees become TreeEnsemble while a file is loaded
// (load/onnx/normalize/learning_trees.cc).
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Lists `nodes_*` have an element for each inner node of all trees, lists `leaf_*` one for each
/// vote.
struct TreeEnsembleParams {
  /// How votes for one target become one number, a TreeVotes: 0 average over the trees, 1 sum, 2
  /// minimum, 3 maximum.
  std::int64_t aggregate_function = 1;
  /// The index of each leaf's first vote in leaf_targetids and leaf_weights, ascending. The
  /// standard lacks it: its leaves have one vote, as they have here if it is absent. Loaders set
  /// it.
  std::optional<std::vector<std::int64_t>> leaf_begins;
  /// The target of each vote, a column of the output, in [0, n_targets).
  std::vector<std::int64_t> leaf_targetids;
  /// The weight of each vote, and the sets that nodes of mode MEMBER test: in the order of these
  /// nodes, each ended by a NaN. f32, f64 or u8, otherwise kUnsupported; absent: empty.
  std::optional<Constant> leaf_weights, membership_values;
  /// Columns of the output, at least 1.
  std::int64_t n_targets = 1;
  /// For each node: whether the false branch is a leaf (not 0), the index of that leaf or node, and
  /// the column of the input that it tests, not negative.
  std::vector<std::int64_t> nodes_falseleafs, nodes_falsenodeids, nodes_featureids;
  /// How often a node was reached in training. Ignored.
  std::optional<Constant> nodes_hitrates;
  /// For each node the answer if the feature is NaN: not 0: true. Empty: false for all.
  std::vector<std::int64_t> nodes_missing_value_tracks_true;
  /// For each node its test, a TreeTest's number (u8 in the standard), and the threshold.
  std::optional<Constant> nodes_modes, nodes_splits;
  /// For each node the same of the true branch; then, for each tree, the node that it begins with.
  std::vector<std::int64_t> nodes_trueleafs, nodes_truenodeids, tree_roots;

  template <class Visitor>
  void visit(Visitor& v) {
    v("aggregate_function", aggregate_function);
    v("leaf_begins", leaf_begins);
    v("leaf_targetids", leaf_targetids);
    v("leaf_weights", leaf_weights);
    v("membership_values", membership_values);
    v("n_targets", n_targets);
    v("nodes_falseleafs", nodes_falseleafs);
    v("nodes_falsenodeids", nodes_falsenodeids);
    v("nodes_featureids", nodes_featureids);
    v("nodes_hitrates", nodes_hitrates);
    v("nodes_missing_value_tracks_true", nodes_missing_value_tracks_true);
    v("nodes_modes", nodes_modes);
    v("nodes_splits", nodes_splits);
    v("nodes_trueleafs", nodes_trueleafs);
    v("nodes_truenodeids", nodes_truenodeids);
    v("tree_roots", tree_roots);
  }
};

}  // namespace parallax
