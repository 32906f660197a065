// The graph that the passes made, in the cache: what the next load of the same model starts from
// instead of the model's nodes. Internal to session/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "cache/weight_cache.h"
#include "ir/graph.h"
#include "parallax/options.h"

namespace parallax {

/// What a Model is made of.
struct LoadedGraph {
  Graph graph;  ///< after the passes
  int file_nodes = 0;
};

/// The cache of the model at `path`, under the version of this build.
std::shared_ptr<WeightCache> open_cache(const std::string& folder,
                                        const std::filesystem::path& path,
                                        const std::shared_ptr<const MappedFile>& file);

/// The graph that a load of `file`, in `folder`, with these options would give, from `cache`: read,
/// verified and inferred like that of any file. Its constants lie in the model's files, which are
/// mapped, or in the cache's. Nothing where there is none or where it is not what it should be; the
/// cache says the latter.
std::optional<LoadedGraph> kept_graph(WeightCache& cache, const std::filesystem::path& folder,
                                      const std::shared_ptr<const MappedFile>& file,
                                      const LoadOptions& options);

/// Has the cache keep `loaded`, which was made of `file` and the files beside it.
void keep_graph(WeightCache& cache, const LoadedGraph& loaded,
                const std::shared_ptr<const MappedFile>& file,
                const std::vector<NamedFile>& external, const LoadOptions& options);

}  // namespace parallax
