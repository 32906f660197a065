// Snapshots of a loaded model's graphs in its cache: the next load starts from them instead of the
// file's nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/mapped_file.h"
#include "base/log.h"
#include "cache/weight_cache.h"
#include "ir/graph.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "planning/compact_graph.h"

namespace parallax {

/// The result of loading a file.
struct LoadedGraph {
  Graph graph;         ///< the lowered graph, which runs
  int file_nodes = 0;  ///< number of nodes in the file
  /// The graph before the lowering passes; nullopt if they changed nothing.
  std::optional<CompactGraph> canonical = {};
  std::vector<PassReport> passes = {};  ///< empty if the graph comes from a snapshot
};

/// Opens the cache of a model in `folder`, under the version of this build. Never null: a cache
/// that cannot be used reports its problem.
std::shared_ptr<WeightCache> open_cache(const std::string& folder, const ModelSource& source,
                                        const Logger& log = {});

/// Whether a cache may hash all files of external weights: they are at most 16 GiB, and at most 64
/// MiB larger than twice the `weights` bytes that the model names. Hashing a sparse file of a few
/// bytes on disk could need hours otherwise.
bool may_hash(const std::vector<NamedFile>& external, std::int64_t weights);

/// Returns the result of loading `model` with these options, from the snapshot in `cache`. The
/// graph is verified and inferred like that of any file; so is the canonical one, once it is
/// restored. Their constants point into the bytes of the model, mapped files of external weights,
/// or the cache. nullopt if there is no snapshot, or if it is damaged, which the cache reports.
std::optional<LoadedGraph> graph_from_snapshot(WeightCache& cache, const ModelBytes& model,
                                               const LoadOptions& options);

/// Adds a snapshot of `loaded` to the cache; it was made of `model` and the files `external`. Does
/// nothing if its deferred constants cannot be computed: the first run reports that.
void keep_snapshot(WeightCache& cache, const LoadedGraph& loaded, const ModelBytes& model,
                   const std::vector<NamedFile>& external, const LoadOptions& options);

}  // namespace parallax
