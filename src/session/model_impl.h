// What a Model holds. Internal to session/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/model.h"
#include "parallax/runtime.h"
#include "planning/graph_forms.h"
#include "planning/graph_snapshot.h"
#include "planning/weight_prefault.h"

namespace parallax {

/// Adds the file's name to an error that names no node.
Error naming(const std::filesystem::path& path, Error error);

/// Immutable but for the forms, which are thread-safe.
struct Model::Impl {
  /// Does all that follows the passes.
  static std::shared_ptr<Impl> finish(LoadedGraph loaded,
                                      std::shared_ptr<GraphContext::Weights> weights);
  /// Runs the passes too: for tests that start from a graph.
  static Result<Model> make(Graph graph, const LoadOptions& options);

  std::shared_ptr<GraphForms> forms;
  std::unique_ptr<WeightPrefault> prefault;  ///< null where weights come from a cache
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> symbols;  ///< free dimensions by name
  int file_nodes = 0;
  std::vector<PassReport> passes;  ///< as LoadedGraph has them
  std::vector<std::string> disabled_passes;
  LoadTimes load_times;
  std::optional<Runtime> runtime;  ///< that it was given

  const Graph& graph() const { return forms->plain()->graph; }
  GraphContext::Weights& weights() const { return *forms->plain()->weights; }
};

}  // namespace parallax
