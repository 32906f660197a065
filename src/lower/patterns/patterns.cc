#include "lower/patterns/patterns.h"

#include "base/status.h"

namespace parallax {
namespace {

/// Patterns that make an operator of their own, which a device may name.
constexpr struct {
  OpKind made;
  decltype(Pass::run) run;
} kOperators[] = {
    {OpKind::kLayerNormalization, fuse_layer_normalization},
    {OpKind::kSilu, fuse_silu},
    {OpKind::kGelu, fuse_gelu},
    {OpKind::kCosineAttention, fuse_cosine_attention},
    {OpKind::kFusedAttention, fuse_attention},
};

}  // namespace

Result<int> fuse_for(const std::function<bool(OpKind)>& has, Graph& graph,
                     const PassContext& context) {
  int changes = 0;
  for (const auto& [made, run] : kOperators) {
    if (!has(made)) continue;
    PX_ASSIGN(const int here, run(graph, context));
    changes += here;
  }
  return changes;
}

}  // namespace parallax
