// What a Model holds. Internal to session/.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "parallax/model.h"
#include "session/graph_forms.h"

namespace parallax {

/// Where a graph comes from, if from a file.
struct ModelFile {
  std::filesystem::path path;
  std::shared_ptr<const MappedFile> mapped;
};

/// Immutable but for the forms, which are locked.
struct Model::Impl {
  /// Everything after the file has been read: for Model::load, and for tests that start from a
  /// graph.
  static Result<Model> make(Graph graph, const LoadOptions& options, LoadTimes times,
                            const ModelFile& file = {});

  std::shared_ptr<GraphForms> forms;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> symbols;  ///< free dimensions by name
  int file_nodes = 0;
  LoadTimes load_times;

  const Graph& graph() const { return forms->plain()->graph; }
  PackedWeights& packed() const { return forms->plain()->packed; }
};

}  // namespace parallax
