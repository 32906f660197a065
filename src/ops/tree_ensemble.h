// The trees of a TreeEnsemble node, checked.
// Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// How an inner node compares a feature with its threshold.
enum class TreeTest : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
/// The way in which the votes for one target become one number.
enum class TreeVotes : std::uint8_t { kAverage, kSum, kMin, kMax };

/// A half-open range of a list.
struct TreeRange {
  std::int64_t begin = 0, end = 0;
};

struct TreeNode {
  std::int64_t feature = 0;
  double threshold = 0;
  TreeTest test = TreeTest::kLeq;
  bool missing_is_true = false;  ///< the answer for NaN
  /// Target of each answer: another node, or, below 0, leaf -1 - n.
  std::int64_t if_true = 0, if_false = 0;
  TreeRange members = {};  ///< range of TreeEnsemble::members, for kMember
};

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> roots;
  std::vector<TreeRange> leaves;  ///< the votes of each
  std::vector<std::int64_t> targets;
  std::vector<double> weights;  ///< weight of each vote
  std::vector<double> members;
  std::int64_t target_count = 1;
  TreeVotes votes = TreeVotes::kSum;
};

/// The attribute `leaf_begins`, which the standard lacks, has the index of each leaf's first vote
/// in leaf_targetids and leaf_weights, if leaves have several votes or none; without it each has
/// one. Errors: kInvalidModel for lists that do not fit each other, numbers out of range, and nodes
/// that are reached twice or by themselves; kUnsupported for element types.
Result<TreeEnsemble> read_tree_ensemble(const Node& node);

}  // namespace parallax
