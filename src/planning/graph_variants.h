// The versions of a model's graph: lowered for this CPU, and with factored cross attention
// (lower/cpu/factor_attention.h) for bindings that need less work with it. A binding always runs
// the same version, so that its outputs have the same bits in every session. The reference kernels
// run the canonical graph, which no lowering pass has changed.
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
#include "planning/compact_graph.h"

namespace parallax {

/// The versions of one model's graph, made on first use.
class GraphVariants {
 public:
  /// `canonical`: nullopt if lowering changed nothing. `weights`: the packed weights; null: new.
  explicit GraphVariants(Graph lowered, std::optional<CompactGraph> canonical = {},
                         std::shared_ptr<GraphContext::Weights> weights = nullptr);

  /// The lowered graph; never null.
  const std::shared_ptr<GraphContext>& plain() const { return plain_; }
  /// Returns the canonical graph, made on first use. Errors: kInvalidInput if it comes from a cache
  /// and is damaged or belongs to another model.
  Result<std::shared_ptr<GraphContext>> canonical();
  /// Returns the version for `binding`, made on first use; for reference kernels the canonical
  /// graph. All versions share weights and have the same inputs and outputs; the symbols of the
  /// canonical graph are the first symbols of the others. Errors: as canonical().
  Result<std::shared_ptr<GraphContext>> of(const Binding& binding, KernelChoice kernels);

 private:
  const std::shared_ptr<GraphContext> plain_;
  const std::vector<CrossAttention> cross_attention_;
  const std::optional<CompactGraph> kept_;
  Mutex mutex_{LockOrder::kRewriting};
  // Set at most once.
  std::shared_ptr<GraphContext> factored_ PX_GUARDED_BY(mutex_), canonical_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
