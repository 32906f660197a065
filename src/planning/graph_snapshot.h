// Snapshots of a loaded model's graphs: the next load starts from those in its cache instead of the
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
#include "planning/kept_graph.h"

namespace parallax {

/// What a load makes of a file.
struct LoadedGraph {
  Graph graph;  ///< lowered: what runs
  int file_nodes = 0;
  /// What the lowering passes were given; nothing where they changed nothing.
  std::optional<KeptGraph> canonical = {};
  std::vector<PassReport> passes = {};  ///< none where the graph is from a snapshot
};

/// The cache of a model, under the version of this build.
std::shared_ptr<WeightCache> open_cache(const std::string& folder, const ModelSource& source,
                                        const Logger& log = {});

/// Whether a cache may hash the files beside a model, all of them whole: they are at most 16 GiB,
/// and 64 MiB larger than twice the `weights` bytes that the model names. A sparse file of a few
/// bytes on the disk takes hours otherwise.
bool may_hash(const std::vector<NamedFile>& external, std::int64_t weights);

/// What a load of `model` with these options would give, from the snapshot in `cache`. The graph is
/// verified and inferred like that of any file; the canonical one is too, once it is restored.
/// Their constants lie in the bytes of the model, or in mapped files beside it or of the cache.
/// Nothing if there is no snapshot, or if it is damaged; the latter
/// goes into the cache's report.
std::optional<LoadedGraph> graph_from_snapshot(WeightCache& cache, const ModelBytes& model,
                                               const LoadOptions& options);

/// Gives the cache a snapshot of `loaded`, which was made of `model` and the files beside it.
void keep_snapshot(WeightCache& cache, const LoadedGraph& loaded, const ModelBytes& model,
                   const std::vector<NamedFile>& external, const LoadOptions& options);

}  // namespace parallax
