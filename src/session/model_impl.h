// The contents of a Model. Internal to session/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/access.h"
#include "parallax/model.h"
#include "parallax/runtime.h"
#include "planning/graph_snapshot.h"
#include "planning/graph_variants.h"
#include "planning/weight_prefault.h"

namespace parallax {

/// Prefixes the message of an error that has no node with the file's name.
Error naming(const std::filesystem::path& path, Error error);
/// Returns kInvalidInput for the bytes of a file without memory.
Status check_memory(std::span<const std::byte> file);

/// Immutable except for the forms, which are thread-safe.
struct Model::Impl {
  /// Makes a model from a graph that the passes have rewritten. `weights` null: none is packed yet.
  static std::shared_ptr<Impl> finish(LoadedGraph loaded,
                                      std::shared_ptr<GraphContext::Weights> weights);
  /// Runs the passes and makes a model, for tests that start from a graph. Errors: kInvalidInput
  /// for an unknown pass; those of the passes.
  static Result<Model> make(Graph graph, const LoadOptions& options);

  std::shared_ptr<GraphVariants> forms;      ///< the graph in all its versions; never null
  std::unique_ptr<WeightPrefault> prefault;  ///< null if weights come from a cache
  std::vector<TensorInfo> inputs, outputs;   ///< in the file's order
  std::vector<Tie> ties;                     ///< state that the model keeps
  std::vector<std::string> symbols;          ///< names of the free dimensions
  int file_nodes = 0;                        ///< number of nodes before the passes
  std::vector<PassReport> passes;            ///< as LoadedGraph has them
  std::vector<std::string> disabled_passes;  ///< LoadOptions::disabled_passes
  LoadTimes load_times;
  ModelMetadata metadata;          ///< without a file: the graph's name only
  std::optional<Runtime> runtime;  ///< the runtime that load() was given; nullopt: none

  /// The graph after the passes.
  const Graph& graph() const { return forms->plain()->graph; }
  /// The packed weights, which all sessions share.
  GraphContext::Weights& weights() const { return *forms->plain()->weights; }
};

}  // namespace parallax
