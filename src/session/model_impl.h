// The contents of a Model. Internal to session/.
//
// load() makes it on the calling thread; afterwards Models and Sessions share it through shared
// pointers, in any number of threads. The last owner destroys it; after an unsafe fork its memory
// is left allocated, because its locks may be held for ever.
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

/// Prefixes the message of an error that has no node with the file's name. The message becomes
/// "'PATH': message"; errors that name a node are returned unchanged.
Error naming(const std::filesystem::path& path, Error error);
/// Returns kInvalidInput for the bytes of a file without memory. Only a null pointer with a
/// positive size is refused. Stage kLoad.
Status check_memory(std::span<const std::byte> file);

/// Immutable except for the forms, which are thread-safe.
struct Model::Impl {
  /// Makes a model from a graph that the passes have rewritten. `weights` null: none is packed yet.
  /// Fills everything that follows from the graph: inputs, outputs, ties, symbols. The caller sets
  /// the prefault thread, the disabled passes, the times, the file's metadata and the runtime
  /// before it shares the result.
  static std::shared_ptr<Impl> finish(LoadedGraph loaded,
                                      std::shared_ptr<GraphContext::Weights> weights);
  /// Runs the passes and makes a model, for tests that start from a graph. Errors: kInvalidInput
  /// for an unknown pass; those of the passes. `runtime` stays empty, so sessions use
  /// Runtime::shared().
  static Result<Model> make(Graph graph, const LoadOptions& options);

  std::shared_ptr<GraphVariants> forms;  ///< the graph in all its versions; never null
  /// Null if weights come from a cache. Null also if the runtime has a user-provided pool or memory
  /// that must not be touched ahead, and for a model made from a graph. Its destructor ends its
  /// thread.
  std::unique_ptr<WeightPrefault> prefault;
  std::vector<TensorInfo> inputs, outputs;  ///< in the file's order
  /// State that the model keeps. Names of the last inputs and outputs of the graph, in its order.
  std::vector<Tie> ties;
  /// Names of the free dimensions. Those that the shapes of inputs name, in the order in which they
  /// first occur.
  std::vector<std::string> symbols;
  int file_nodes = 0;                        ///< number of nodes before the passes
  std::vector<PassReport> passes;            ///< as LoadedGraph has them
  std::vector<std::string> disabled_passes;  ///< LoadOptions::disabled_passes
  /// Milliseconds of each stage of load().
  LoadTimes load_times;
  ModelMetadata metadata;  ///< without a file: the graph's name only
  /// The runtime that load() was given; nullopt: none. Sessions that are created without a runtime
  /// use it. It is held as long as the model lives.
  std::optional<Runtime> runtime;

  /// The graph after the passes.
  const Graph& graph() const { return forms->plain()->graph; }
  /// The packed weights, which all sessions share.
  GraphContext::Weights& weights() const { return *forms->plain()->weights; }
};

}  // namespace parallax
