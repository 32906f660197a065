// What a Model holds. Internal to session/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execute/program.h"
#include "parallax/model.h"

namespace parallax {

/// Immutable but for the locked caches of the context.
struct Model::Impl {
  std::shared_ptr<GraphContext> context;
  std::vector<TensorInfo> inputs, outputs;
  /// Free dimensions by name.
  std::vector<std::string> symbols;
  int file_nodes = 0;
  LoadTimes load_times;

  const Graph& graph() const { return context->graph; }
};

/// Everything after the file has been read: for Model::load, and for tests that start from a graph.
Result<std::shared_ptr<const Model::Impl>> make_model(Graph graph, const LoadOptions& options,
                                                      LoadTimes times);

}  // namespace parallax
