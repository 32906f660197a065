#include "planning/graph_snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/saturating.h"
#include "base/status.h"
#include "kernels/packing_version.h"
#include "load/external_files.h"
#include "ops/deferred.h"
#include "planning/graph_version.h"

namespace parallax {
namespace {

// The bytes of a snapshot: the number of nodes in the file, the number of graphs (one if the
// lowered graph is the canonical one), and for each graph the places of its constants and its
// bytes. The place of a constant is a holder and an offset. Holders are the model's bytes, then the
// files of external weights, then the constants that are in none of them.

/// Names the options that decide the graph, besides the model and the code.
std::string options_name(const LoadOptions& options) {
  const std::set<std::string> disabled(options.disabled_passes.begin(),
                                       options.disabled_passes.end());
  std::string name =
      fmt::format("nesting {} without {}", options.max_nesting, fmt::join(disabled, " "));
  for (const KnownInput& input : options.inputs)
    name += fmt::format(" input {}:{} {}", input.name.size(), input.name,
                        input.dims ? fmt::format("{}", fmt::join(*input.dims, "x")) : "as it is");
  if (!options.signature.empty())
    name += fmt::format(" signature {}:{}", options.signature.size(), options.signature);
  if (!options.section.empty())
    name += fmt::format(" section {}:{}", options.section.size(), options.section);
  return name;
}

/// Finds the places of constants by their addresses.
class Holders {
 public:
  Holders(std::span<const std::byte> model, const std::vector<NamedFile>& external)
      : model_(model) {
    for (const NamedFile& one : external) files_.emplace(one.file->bytes().data(), next_++);
  }

  struct Place {
    std::uint64_t holder = 0, offset = 0;
  };
  Place of(const SharedBytes& constant) {
    if (constant.bytes.empty()) return {};
    const std::byte* const begin = constant.bytes.data();
    if (!std::less<>{}(begin, model_.data()) && std::less<>{}(begin, model_.data() + model_.size()))
      return {0, static_cast<std::uint64_t>(begin - model_.data())};
    const auto mapped = mapped_place(begin);
    const auto file = mapped ? files_.find(mapped->file.data()) : files_.end();
    if (file != files_.end()) return {file->second, static_cast<std::uint64_t>(mapped->offset)};
    const auto [known, fresh] =
        known_.try_emplace(std::pair(constant.bytes.data(), constant.bytes.size()), next_);
    if (fresh) {
      ++next_;
      computed.push_back(constant);
    }
    return {known->second, 0};
  }

  std::vector<SharedBytes> computed;  ///< constants that are in no file

 private:
  const std::span<const std::byte> model_;
  std::map<const std::byte*, std::uint64_t> files_;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> known_;
  std::uint64_t next_ = 1;
};

std::vector<SharedBytes> holders_of(const Snapshot& snapshot, const ModelBytes& model) {
  std::vector<SharedBytes> holders = {{model.bytes, model.owner}};
  for (const NamedFile& one : snapshot.files) holders.push_back({one.file->bytes(), one.file});
  holders.insert(holders.end(), snapshot.constants.begin(), snapshot.constants.end());
  return holders;
}

void write(const CompactGraph& graph, Holders& holders, ByteWriter& out) {
  out.number(graph.constants.size());
  for (const SharedBytes& constant : graph.constants) {
    const auto [holder, offset] = holders.of(constant);
    out.number(holder);
    out.number(offset);
    out.number(constant.bytes.size());
  }
  out.block(graph.snapshot.bytes);
}

/// Computes all deferred constants: a cache has their bytes, so that the next process need not.
Status compute_all(const CompactGraph& graph) {
  for (const auto& [bytes, owner] : graph.constants)
    PX_RETURN_IF_ERROR(compute_for_good(Constant{DType::kF32, {}, bytes, owner}));
  return {};
}

/// Reads a graph. Damaged parts have no bytes, or set the error of `in`.
CompactGraph read_graph(ByteReader& in, const std::vector<SharedBytes>& holders,
                        const Snapshot& snapshot, std::int64_t file_bytes) {
  CompactGraph graph{{}, {}, file_bytes};
  const std::size_t count = in.count(3);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const SharedBytes& from = holders[static_cast<std::size_t>(in.below(holders.size()))];
    const auto offset = in.below(from.bytes.size() + 1);
    const auto size = in.below(from.bytes.size() - offset + 1);
    graph.constants.push_back(
        {from.bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)),
         from.owner});
  }
  graph.snapshot = {in.block(), snapshot.bytes.owner};
  return graph;
}

/// Restores a snapshot. A cache's file is not trusted: inference must reproduce the graph exactly.
Result<LoadedGraph> read_snapshot(const Snapshot& snapshot, const ModelBytes& model) {
  constexpr std::uint64_t kMaxGraphs = 2;
  ByteReader in(snapshot.bytes.bytes);
  LoadedGraph loaded;
  loaded.file_nodes = static_cast<int>(in.below(std::numeric_limits<std::int32_t>::max()));
  const auto graphs = in.below(kMaxGraphs + 1);
  const std::vector<SharedBytes> holders = holders_of(snapshot, model);
  const std::int64_t file_bytes = std::ssize(model.bytes);
  const CompactGraph lowered = read_graph(in, holders, snapshot, file_bytes);
  if (graphs == kMaxGraphs) loaded.canonical = read_graph(in, holders, snapshot, file_bytes);
  if (!in.ok())
    return tl::unexpected(Error{Stage::kLoad, ErrorCode::kInvalidInput, {}, "it is cut short"});
  PX_ASSIGN(loaded.graph, restore(lowered));
  return loaded;
}

}  // namespace

std::shared_ptr<WeightCache> open_cache(const std::string& folder, const ModelSource& source,
                                        const Logger& log) {
  return std::make_shared<WeightCache>(
      WeightCache::Options{folder, packing_machine(),
                           fmt::format("{} {}", packing_version(), graph_version()), log},
      source);
}

bool may_hash(const std::vector<NamedFile>& external, std::int64_t weights) {
  constexpr std::int64_t kMax = std::int64_t{16} << 30, kSlack = std::int64_t{64} << 20;
  std::int64_t bytes = 0;
  for (const NamedFile& file : external)
    bytes = saturating_add(bytes, std::ssize(file.file->bytes()));
  return bytes <= kMax && bytes - kSlack <= saturating_mul(2, weights);
}

std::optional<LoadedGraph> graph_from_snapshot(WeightCache& cache, const ModelBytes& model,
                                               const LoadOptions& options) {
  const auto open = [&](const std::string& name) {
    return open_external({model.folder, model.linked_folder}, name);
  };
  const auto snapshot = cache.snapshot(options_name(options), open);
  if (!snapshot) return std::nullopt;
  auto loaded = read_snapshot(*snapshot, model);
  if (loaded) return *std::move(loaded);
  cache.report_problem("the graph in the cache cannot be used: " + loaded.error().to_string());
  return std::nullopt;
}

void keep_snapshot(WeightCache& cache, const LoadedGraph& loaded, const ModelBytes& model,
                   const std::vector<NamedFile>& external, const LoadOptions& options) {
  const CompactGraph lowered = keep(loaded.graph);
  const bool computed =
      compute_all(lowered) && (!loaded.canonical || compute_all(*loaded.canonical));
  if (!computed) return;  // the first run reports the error
  Holders holders(model.bytes, external);
  ByteWriter out;
  out.number(static_cast<std::uint64_t>(loaded.file_nodes));
  out.number(loaded.canonical ? 2 : 1);
  write(lowered, holders, out);
  if (loaded.canonical) write(*loaded.canonical, holders, out);
  const auto bytes = std::make_shared<const std::vector<std::byte>>(out.take());
  cache.keep_snapshot(options_name(options),
                      {{*bytes, bytes}, external, std::move(holders.computed)});
}

}  // namespace parallax
