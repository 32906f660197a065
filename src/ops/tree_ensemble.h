// The trees of a TreeEnsemble node, checked, for its inference and its kernel. Older operators for
// trees become TreeEnsemble while a file is loaded. Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// The test of an inner node: feature <= threshold, <, >=, >, ==, !=, or the feature is a member.
enum class TreeTest : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
/// How the weights of all votes for one target become one number.
enum class TreeVotes : std::uint8_t { kAverage, kSum, kMin, kMax };

/// The elements [begin, end) of a list.
struct TreeRange {
  std::int64_t begin = 0, end = 0;
};

/// An inner node: a test of one feature, and where each answer leads.
struct TreeNode {
  std::int64_t feature = 0;  ///< column of the input; inference compares it with the width
  double threshold = 0;
  TreeTest test = TreeTest::kLeq;
  bool missing_is_true = false;  ///< the answer for NaN
  /// The next step of each answer: an index into TreeEnsemble::nodes, or -1 - the index of a leaf.
  std::int64_t if_true = 0, if_false = 0;
  TreeRange members = {};  ///< range of TreeEnsemble::members, for kMember
};

/// All trees of a node. Every node is reached from one root, by one path.
struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> roots;    ///< indices into `nodes`
  std::vector<TreeRange> leaves;      ///< the votes of each, as a range of targets and weights
  std::vector<std::int64_t> targets;  ///< target of each vote, a column of the output
  std::vector<double> weights;        ///< weight of each vote
  std::vector<double> members;        ///< the sets of all kMember tests
  std::int64_t target_count = 1;      ///< columns of the output
  TreeVotes votes = TreeVotes::kSum;
};

/// Returns the trees of a node. `leaf_begins`, an attribute that the standard lacks, has the index
/// of each leaf's first vote in leaf_targetids and leaf_weights; without it each leaf has one vote.
/// Errors: kInvalidModel for lists that do not fit each other, numbers out of range, and nodes with
/// several paths to them or in a cycle; kUnsupported for element types.
Result<TreeEnsemble> read_tree_ensemble(const Node& node);

}  // namespace parallax
