// TreeEnsemble: each row of features descends every tree to a leaf, whose votes are added to
// targets.
#include "ops/tree_ensemble.h"

#include <cmath>
#include <limits>
#include <memory>

#include "kernels/reference/common.h"

namespace parallax {
namespace {

bool is_member(const TreeEnsemble& trees, const TreeNode& node, double x) {
  for (std::int64_t i = node.members.begin; i < node.members.end; ++i)
    if (trees.members[static_cast<std::size_t>(i)] == x) return true;
  return false;
}

bool answer(const TreeEnsemble& trees, const TreeNode& node, double x) {
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.test) {
    case TreeTest::kLeq:
      return x <= node.threshold;
    case TreeTest::kLt:
      return x < node.threshold;
    case TreeTest::kGte:
      return x >= node.threshold;
    case TreeTest::kGt:
      return x > node.threshold;
    case TreeTest::kEq:
      return x == node.threshold;
    case TreeTest::kNeq:
      return x != node.threshold;
    case TreeTest::kMember:
      return is_member(trees, node, x);
  }
  return false;
}

/// Returns the initial value of a target's sum of votes. Targets without votes are 0.
double first_vote(TreeVotes votes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (votes == TreeVotes::kMin) return kInfinity;
  return votes == TreeVotes::kMax ? -kInfinity : 0;
}

void vote(TreeVotes votes, double weight, double& sum) {
  if (votes == TreeVotes::kMin) {
    sum = std::min(sum, weight);
  } else if (votes == TreeVotes::kMax) {
    sum = std::max(sum, weight);
  } else {
    sum += weight;
  }
}

template <class T>
void judge_row(const TreeEnsemble& trees, const T* x, std::int64_t features, double* sums) {
  const double first = first_vote(trees.votes);
  std::fill(sums, sums + trees.target_count, first);
  for (const std::int64_t root : trees.roots) {
    std::int64_t id = root;
    while (id >= 0) {
      const TreeNode& node = trees.nodes[static_cast<std::size_t>(id)];
      const double value = node.feature < features ? static_cast<double>(x[node.feature])
                                                   : std::numeric_limits<double>::quiet_NaN();
      id = answer(trees, node, value) ? node.if_true : node.if_false;
    }
    const TreeRange leaf = trees.leaves[static_cast<std::size_t>(-1 - id)];
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      vote(trees.votes, trees.weights[at], sums[trees.targets[at]]);
    }
  }
  for (std::int64_t i = 0; i < trees.target_count; ++i) {
    if (std::isinf(first) && sums[i] == first) sums[i] = 0;
    if (trees.votes == TreeVotes::kAverage && !trees.roots.empty())
      sums[i] /= static_cast<double>(trees.roots.size());
  }
}

std::int64_t bytes_of_trees(const TreeEnsemble& trees) {
  const std::size_t bytes = trees.nodes.size() * sizeof(TreeNode) +
                            trees.leaves.size() * sizeof(TreeRange) +
                            (trees.weights.size() + trees.members.size()) * sizeof(double) +
                            (trees.targets.size() + trees.roots.size()) * sizeof(std::int64_t);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

KernelResult reference_tree_ensemble(const KernelRequest& request) {
  auto read = read_tree_ensemble(request.node);
  if (!read) return tl::unexpected(std::move(read).error());
  const auto trees = std::make_shared<const TreeEnsemble>(std::move(*read));
  const std::int64_t rows = request.inputs[0].dims[0], features = request.inputs[0].dims[1];
  const auto scratch = checked_mul(trees->target_count, static_cast<std::int64_t>(sizeof(double)));
  if (!scratch) return make_error(ErrorCode::kOutOfMemory, "too many targets");
  const auto steps = static_cast<std::int64_t>(trees->roots.size()) * 16 + 1;
  const std::int64_t tiles =
      tile_count(rows, std::max<std::int64_t>(kElementsPerTile / 16 / steps, 1));
  const LambdaKernelOptions options{
      .tiles = tiles, .scratch_bytes = *scratch, .table_bytes = bytes_of_trees(*trees)};
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      auto* const sums = reinterpret_cast<double*>(args.scratch.data());
      const TileRange range = tile_range(rows, tiles, tile);
      for (std::int64_t row = range.begin; row < range.end; ++row) {
        judge_row(*trees, args.in<T>(0) + row * features, features, sums);
        T* const y = args.out<T>(0) + row * trees->target_count;
        for (std::int64_t i = 0; i < trees->target_count; ++i) y[i] = static_cast<T>(sums[i]);
      }
      return {};
    });
  });
}

}  // namespace parallax
