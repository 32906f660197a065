// The forms in which a model's graph runs: lowered for this CPU, and with factored cross attention
// (lower/cpu/factor_attention.h) for bindings where that is less work. A binding always runs in the
// same form, so that its outputs have the same bits in every session. The reference kernels run the
// canonical graph, which no lowering pass has touched.
//
// Thread-safe. One per model.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "compile/graph_context.h"
#include "kernels/registry.h"
#include "lower/cpu/factor_attention.h"
#include "planning/kept_graph.h"

namespace parallax {

class GraphForms {
 public:
  /// `canonical`: nothing where `lowered` is that.
  explicit GraphForms(Graph lowered, std::optional<KeptGraph> canonical = {},
                      std::shared_ptr<GraphContext::Weights> weights = nullptr);

  const std::shared_ptr<GraphContext>& plain() const { return plain_; }
  /// The oracle's graph, made at its first use. Errors: kInvalidInput, where it is from a cache and
  /// damaged or not this model's.
  Result<std::shared_ptr<GraphContext>> canonical();
  /// The form for `binding`, made at its first use; the canonical graph for reference kernels. All
  /// share weights and have the same inputs and outputs; the symbols of the canonical graph are the
  /// first of the others. Errors: as canonical().
  Result<std::shared_ptr<GraphContext>> of(const Binding& binding, KernelChoice kernels);

 private:
  const std::shared_ptr<GraphContext> plain_;
  const std::vector<CrossAttention> cross_attention_;
  const std::optional<KeptGraph> kept_;
  Mutex mutex_{LockOrder::kRewriting};
  // Set once.
  std::shared_ptr<GraphContext> factored_ PX_GUARDED_BY(mutex_), canonical_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
