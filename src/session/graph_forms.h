// The forms in which a model's graph runs: as the passes left it, and with factored cross attention
// (lower/cpu/factor_attention.h) for bindings where that is less work. A binding always runs in the
// same form, so that its outputs have the same bits in every session. Internal to session/.
//
// Thread-safe. One per model.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "execute/program.h"
#include "lower/cpu/factor_attention.h"

namespace parallax {

class GraphForms {
 public:
  explicit GraphForms(Graph graph, std::shared_ptr<GraphContext::Weights> weights = nullptr);

  const std::shared_ptr<GraphContext>& plain() const { return plain_; }
  /// The form for `binding`, made at its first use. All forms share weights and have the same
  /// symbols, inputs and outputs. Reference kernels run the plain one, so that `verify` compares
  /// with the model as it was written.
  std::shared_ptr<GraphContext> of(const Binding& binding, KernelChoice kernels);

 private:
  const std::shared_ptr<GraphContext> plain_;
  const std::vector<CrossAttention> cross_attention_;
  Mutex mutex_;
  std::shared_ptr<GraphContext> factored_ PX_GUARDED_BY(mutex_);  // set once
};

}  // namespace parallax
