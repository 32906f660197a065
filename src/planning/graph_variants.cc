#include "planning/graph_variants.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace parallax {
namespace {

/// Whether a run that was bound to `lowered` has everything that `canonical` needs: the latter may
/// come from a cache, which is not trusted.
bool serves(const Graph& lowered, const Graph& canonical) {
  const auto same = [&](const std::vector<ValueId>& a, const std::vector<ValueId>& b, bool shapes) {
    return std::ranges::equal(a, b, [&](ValueId x, ValueId y) {
      const Value &one = lowered.values[x], &other = canonical.values[y];
      return one.dtype == other.dtype && (!shapes || one.shape == other.shape);
    });
  };
  if (canonical.symbols.size() > lowered.symbols.size()) return false;
  for (const SymbolId id : canonical.symbols.ids()) {
    const Symbol &one = lowered.symbols[id], &other = canonical.symbols[id];
    if (one.name != other.name || one.kind != other.kind) return false;
  }
  return same(lowered.inputs, canonical.inputs, true) &&
         same(lowered.outputs, canonical.outputs, false);
}

}  // namespace

GraphVariants::GraphVariants(Graph lowered, std::optional<CompactGraph> canonical,
                             std::shared_ptr<GraphContext::Weights> weights)
    : plain_(std::make_shared<GraphContext>(std::move(lowered), Delegation{}, std::move(weights))),
      cross_attention_(find_cross_attention(plain_->graph)),
      kept_(std::move(canonical)) {}

Result<std::shared_ptr<GraphContext>> GraphVariants::canonical() {
  if (!kept_) return plain_;
  const MutexLock lock(mutex_);
  if (canonical_ == nullptr) {
    PX_ASSIGN(Graph graph, restore(*kept_));
    if (!serves(plain_->graph, graph)) {
      return tl::unexpected(Error{Stage::kSession,
                                  ErrorCode::kInvalidInput,
                                  {},
                                  "the canonical graph in the cache is that of another model"});
    }
    canonical_ = std::make_shared<GraphContext>(std::move(graph), Delegation{}, plain_->weights);
  }
  return canonical_;
}

Result<std::shared_ptr<GraphContext>> GraphVariants::of(const Binding& binding,
                                                        KernelChoice kernels) {
  if (kernels.reference_only) return canonical();
  if (!factoring_pays(cross_attention_, binding)) return plain_;
  const MutexLock lock(mutex_);
  if (factored_ == nullptr) {
    auto graph = factor_attention(plain_->graph, cross_attention_);
    // A graph that cannot be rewritten runs unchanged.
    factored_ =
        graph ? std::make_shared<GraphContext>(*std::move(graph), Delegation{}, plain_->weights)
              : plain_;
  }
  return factored_;
}

}  // namespace parallax
