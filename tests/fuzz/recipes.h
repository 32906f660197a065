// How nodes of each operator are proposed. Operators without a row in recipes.cc are proposed from
// their definition alone. Thread-safety: pure functions over a generator.
#pragma once

#include "generator.h"
#include "ops/op.h"

namespace parallax::fuzz {

/// Proposes a node and adds it; false where nothing was added.
using Recipe = bool (*)(Generator&, OpKind);

struct RecipeRow {
  OpKind op;
  Recipe propose;
};

/// Adds a node of the operator.
bool propose(Generator& generator, OpKind op);
/// Adds nodes that passes look for: normalised convolutions, attention, activations, arithmetic on
/// shapes.
bool propose_motif(Generator& generator);
/// Nodes of a quantised graph, in the spellings of several quantisers.
bool propose_quantised(Generator& generator);
/// One of them: convolutions of one to three dimensions, and what leaves the rank of their images.
bool propose_image_head(Generator& generator);

// The families, each in a file of its own.
bool propose_if(Generator&, OpKind);
bool propose_loop(Generator&, OpKind);
bool propose_scan(Generator&, OpKind);
bool propose_conv(Generator&, OpKind);
bool propose_pool(Generator&, OpKind);
bool propose_global_pool(Generator&, OpKind);
bool propose_batch_normalization(Generator&, OpKind);
bool propose_layer_normalization(Generator&, OpKind);
bool propose_softmax(Generator&, OpKind);
bool propose_matmul(Generator&, OpKind);
bool propose_gemm(Generator&, OpKind);
bool propose_resize(Generator&, OpKind);
bool propose_reduce(Generator&, OpKind);
bool propose_arg_max(Generator&, OpKind);
bool propose_top_k(Generator&, OpKind);
bool propose_reshape(Generator&, OpKind);
bool propose_squeeze(Generator&, OpKind);
bool propose_unsqueeze(Generator&, OpKind);
bool propose_flatten(Generator&, OpKind);
bool propose_transpose(Generator&, OpKind);
bool propose_concat(Generator&, OpKind);
bool propose_expand(Generator&, OpKind);
bool propose_tile(Generator&, OpKind);
bool propose_pad(Generator&, OpKind);
bool propose_slice(Generator&, OpKind);
bool propose_split(Generator&, OpKind);
bool propose_gather(Generator&, OpKind);
bool propose_gather_nd(Generator&, OpKind);
bool propose_scatter_nd(Generator&, OpKind);
bool propose_range(Generator&, OpKind);
bool propose_constant_of_shape(Generator&, OpKind);
bool propose_shape(Generator&, OpKind);
bool propose_non_max_suppression(Generator&, OpKind);
bool propose_non_zero(Generator&, OpKind);
bool propose_clip(Generator&, OpKind);
bool propose_cast(Generator&, OpKind);
bool propose_pow(Generator&, OpKind);
bool propose_mod(Generator&, OpKind);
bool propose_where(Generator&, OpKind);
bool propose_gather_elements(Generator&, OpKind);
bool propose_scatter_elements(Generator&, OpKind);
bool propose_tensor_scatter(Generator&, OpKind);
bool propose_one_hot(Generator&, OpKind);
bool propose_eye_like(Generator&, OpKind);
bool propose_trilu(Generator&, OpKind);
bool propose_compress(Generator&, OpKind);
bool propose_unique(Generator&, OpKind);
bool propose_space_blocks(Generator&, OpKind);
bool propose_reverse_sequence(Generator&, OpKind);
bool propose_col2im(Generator&, OpKind);
bool propose_cumulative(Generator&, OpKind);
bool propose_bit_shift(Generator&, OpKind);
bool propose_bitwise(Generator&, OpKind);
bool propose_random(Generator&, OpKind);
bool propose_dropout(Generator&, OpKind);
/// From the definition alone.
bool propose_generic(Generator&, OpKind);

}  // namespace parallax::fuzz
