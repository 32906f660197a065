// Attributes of TreeEnsemble, unchecked: read_tree_ensemble() of ops/tree_ensemble.h checks them.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct TreeEnsembleParams {
  std::int64_t aggregate_function = 1;  ///< a TreeVotes
  /// The index of each leaf's first vote in leaf_targetids and leaf_weights. The standard lacks it.
  std::optional<std::vector<std::int64_t>> leaf_begins;
  std::vector<std::int64_t> leaf_targetids;
  std::optional<Constant> leaf_weights, membership_values;
  std::int64_t n_targets = 1;
  std::vector<std::int64_t> nodes_falseleafs, nodes_falsenodeids, nodes_featureids;
  std::optional<Constant> nodes_hitrates;  ///< ignored
  std::vector<std::int64_t> nodes_missing_value_tracks_true;
  std::optional<Constant> nodes_modes, nodes_splits;
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
