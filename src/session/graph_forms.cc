#include "session/graph_forms.h"

#include <utility>

namespace parallax {

GraphForms::GraphForms(Graph graph, std::shared_ptr<GraphContext::Weights> weights)
    : plain_(std::make_shared<GraphContext>(std::move(graph), Delegation{}, std::move(weights))),
      cross_attention_(find_cross_attention(plain_->graph)) {}

std::shared_ptr<GraphContext> GraphForms::of(const Binding& binding, KernelChoice kernels) {
  if (kernels.reference_only || !factoring_pays(cross_attention_, binding)) return plain_;
  const MutexLock lock(mutex_);
  if (factored_ == nullptr) {
    auto graph = factor_attention(plain_->graph, cross_attention_);
    // What cannot be rewritten runs as it is.
    factored_ =
        graph ? std::make_shared<GraphContext>(*std::move(graph), Delegation{}, plain_->weights)
              : plain_;
  }
  return factored_;
}

}  // namespace parallax
