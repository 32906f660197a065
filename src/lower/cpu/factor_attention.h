// Cross attention without projecting its keys and values. These are products of one tensor X with
// weights of each head, K_h = X Wk_h + bk_h and V_h = X Wv_h + bv_h, so that by associativity
//
//     Q_h K_h^T = (Q_h Wk_h^T) X^T + (a number per query, which the softmax does not see)
//     P_h V_h   = (P_h X) Wv_h + bv_h          for weights P_h, whose rows sum to one
//
// and one attention, whose keys and values are X, answers the queries of all heads. With few
// queries that is less work: Whisper's 16 tokens on 1500 positions take a quarter. With many it is
// more, and lengths are free dimensions: which form is better is known when they are bound. Hence
// no pass that runs at load. Functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// An attention that can be rewritten so: heads are an axis of [batch, keys, heads, ..], no other
/// node reads the projections, weights and biases are constants, there is no mask.
struct CrossAttention {
  NodeId node;
  ValueId x;                                       ///< [batch, keys, model]
  ValueId key_weights, value_weights, value_bias;  ///< the latter may be invalid
  std::int64_t model = 0, heads = 0, depth = 0, width = 0;
  Expr batch, keys, queries;
};

/// Those that some binding makes less work, in the order of their nodes. O(V+E).
std::vector<CrossAttention> find_cross_attention(const Graph& graph);

/// True where rewriting all of `found` saves a fifth of their multiply-adds under `binding` and
/// takes no more memory. False for sizes that are 0 or not known.
bool factoring_pays(const std::vector<CrossAttention>& found, const Binding& binding);

/// `graph`, in which `found` was found, rewritten; symbols, inputs and outputs stay. Weights stay
/// where they lie. Errors: stage kPasses, where inference does not arrive at the same shapes.
Result<Graph> factor_attention(Graph graph, const std::vector<CrossAttention>& found);

}  // namespace parallax
