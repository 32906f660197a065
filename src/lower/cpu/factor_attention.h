// Cross attention without projecting its keys and values. These are products of one tensor X with
// weights of each head, K_h = X Wk_h + bk_h and V_h = X Wv_h + bv_h, so that by associativity
//
//     Q_h K_h^T = (Q_h Wk_h^T) X^T + (a number per query, which the softmax does not see)
//     P_h V_h   = (P_h X) Wv_h + bv_h          for weights P_h, whose rows sum to one
//
// and one attention, whose keys and values are X, answers the queries of all heads. With few
// queries that is less work: Whisper's 16 tokens on 1500 positions need a quarter. With many it is
// more, and lengths are free dimensions: the better form is known only when they are bound.
// Therefore this is not a pass that runs at load. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// An attention that can be rewritten so: heads are an axis of [batch, keys, heads, ..], the
/// projections have no other reader, weights and biases are constants, there is no mask.
struct CrossAttention {
  NodeId node;
  ValueId x;                                       ///< [batch, keys, model]
  ValueId key_weights, value_weights, value_bias;  ///< the latter may be invalid
  std::int64_t model = 0, heads = 0, depth = 0, width = 0;
  Expr batch, keys, queries;
};

/// Returns those that need less work under some binding, in the order of their nodes. O(V+E).
std::vector<CrossAttention> find_cross_attention(const Graph& graph);

/// Returns whether rewriting all of `found` saves a fifth of their multiply-adds under `binding`
/// and needs no more memory. False for sizes that are 0 or unknown.
bool factoring_pays(const std::vector<CrossAttention>& found, const Binding& binding);

/// Returns `graph`, in which `found` was found, rewritten; symbols, inputs and outputs stay.
/// Weights are not copied. Errors: stage kSimplify, if inference does not give the same shapes.
Result<Graph> factor_attention(Graph graph, const std::vector<CrossAttention>& found);

}  // namespace parallax
