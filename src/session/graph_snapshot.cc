#include "session/graph_snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/saturating.h"
#include "base/status.h"
#include "ir/snapshot.h"
#include "kernels/packing_version.h"
#include "load/onnx/external_data.h"
#include "ops/infer.h"
#include "session/graph_version.h"

namespace parallax {
namespace {

// A snapshot's bytes: how many nodes the file has, where each constant lies, the graph. A constant
// lies in a holder, from some byte on. Holders are the model's file, those beside it and then the
// constants that lie in none.

/// What decides the graph besides the model and the code.
std::string options_name(const LoadOptions& options) {
  const std::set<std::string> disabled(options.disabled_passes.begin(),
                                       options.disabled_passes.end());
  return fmt::format("nesting {} without {}", options.max_nesting, fmt::join(disabled, " "));
}

/// Where constants lie, by address.
class Holders {
 public:
  Holders(const MappedFile& file, const std::vector<NamedFile>& external) {
    files_.emplace(file.bytes().data(), next_++);
    for (const NamedFile& one : external) files_.emplace(one.file->bytes().data(), next_++);
  }

  struct Place {
    std::uint64_t holder = 0, offset = 0;
  };
  Place of(const Constant& constant) {
    if (constant.bytes.empty()) return {};
    const auto mapped = mapped_place(constant.bytes.data());
    const auto file = mapped ? files_.find(mapped->file.data()) : files_.end();
    if (file != files_.end()) return {file->second, static_cast<std::uint64_t>(mapped->offset)};
    const auto [known, fresh] =
        known_.try_emplace(std::pair(constant.bytes.data(), constant.bytes.size()), next_);
    if (fresh) {
      ++next_;
      computed.push_back({constant.bytes, constant.owner});
    }
    return {known->second, 0};
  }

  std::vector<SharedBytes> computed;  ///< those in no file

 private:
  std::map<const std::byte*, std::uint64_t> files_;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> known_;
  std::uint64_t next_ = 0;
};

std::vector<SharedBytes> holders_of(const Snapshot& snapshot,
                                    const std::shared_ptr<const MappedFile>& file) {
  std::vector<SharedBytes> holders = {{file->bytes(), file}};
  for (const NamedFile& one : snapshot.files) holders.push_back({one.file->bytes(), one.file});
  holders.insert(holders.end(), snapshot.constants.begin(), snapshot.constants.end());
  return holders;
}

/// The bytes of each constant, in the order of the graph, whose sizes tell how many.
class ConstantReader {
 public:
  ConstantReader(ByteReader& in, std::vector<SharedBytes> holders) : holders_(std::move(holders)) {
    const std::size_t count = in.count(2);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
      const auto holder = static_cast<std::size_t>(in.below(holders_.size()));
      places_.emplace_back(holder, in.number());
    }
  }

  std::optional<SharedBytes> next(std::int64_t bytes) {
    if (next_ == places_.size()) return std::nullopt;
    const auto [holder, offset] = places_[next_++];
    const SharedBytes& from = holders_[holder];
    const auto size = static_cast<std::size_t>(bytes);
    if (offset > from.bytes.size() || size > from.bytes.size() - offset) return std::nullopt;
    return SharedBytes{from.bytes.subspan(static_cast<std::size_t>(offset), size), from.owner};
  }

 private:
  std::vector<SharedBytes> holders_;
  std::vector<std::pair<std::size_t, std::uint64_t>> places_;
  std::size_t next_ = 0;
};

/// Nobody believes a cache's file: what inference makes of the graph must be the graph.
Result<LoadedGraph> read_snapshot(const Snapshot& snapshot,
                                  const std::shared_ptr<const MappedFile>& file) {
  ByteReader in(snapshot.bytes.bytes);
  const auto file_nodes = in.below(std::numeric_limits<std::int32_t>::max());
  ConstantReader constants(in, holders_of(snapshot, file));
  const std::span<const std::byte> bytes = in.rest();
  PX_ASSIGN(Graph graph, graph_of(bytes, [&](std::int64_t n) { return constants.next(n); }));
  PX_RETURN_IF_ERROR(verify(graph, Stage::kLoad));
  PX_RETURN_IF_ERROR(infer_graph(graph, std::ssize(file->bytes())));
  if (!std::ranges::equal(snapshot_of(graph).bytes, bytes)) {
    return tl::unexpected(
        Error{Stage::kLoad, ErrorCode::kInvalidInput, {}, "inference gives other shapes"});
  }
  return LoadedGraph{std::move(graph), static_cast<int>(file_nodes)};
}

}  // namespace

std::shared_ptr<WeightCache> open_cache(const std::string& folder,
                                        const std::filesystem::path& path,
                                        const std::shared_ptr<const MappedFile>& file) {
  return std::make_shared<WeightCache>(
      WeightCache::Options{folder, path, packing_machine(),
                           fmt::format("{} {}", packing_version(), graph_version())},
      file);
}

bool may_hash(const std::vector<NamedFile>& external, std::int64_t weights) {
  constexpr std::int64_t kMost = std::int64_t{16} << 30, kSlack = std::int64_t{64} << 20;
  std::int64_t bytes = 0;
  for (const NamedFile& file : external)
    bytes = saturating_add(bytes, std::ssize(file.file->bytes()));
  return bytes <= kMost && bytes - kSlack <= saturating_mul(2, weights);
}

std::optional<LoadedGraph> graph_from_snapshot(WeightCache& cache,
                                               const std::filesystem::path& folder,
                                               const std::shared_ptr<const MappedFile>& file,
                                               const LoadOptions& options) {
  const auto snapshot = cache.snapshot(
      options_name(options), [&](const std::string& name) { return open_external(folder, name); });
  if (!snapshot) return std::nullopt;
  auto loaded = read_snapshot(*snapshot, file);
  if (loaded) return *std::move(loaded);
  cache.report_problem("the graph in the cache cannot be used: " + loaded.error().to_string());
  return std::nullopt;
}

void keep_snapshot(WeightCache& cache, const LoadedGraph& loaded,
                   const std::shared_ptr<const MappedFile>& file,
                   const std::vector<NamedFile>& external, const LoadOptions& options) {
  const GraphSnapshot graph = snapshot_of(loaded.graph);
  Holders holders(*file, external);
  ByteWriter out;
  out.number(static_cast<std::uint64_t>(loaded.file_nodes));
  out.number(graph.constants.size());
  for (const Constant* constant : graph.constants) {
    const auto [holder, offset] = holders.of(*constant);
    out.number(holder);
    out.number(offset);
  }
  out.append(graph.bytes);
  const auto bytes = std::make_shared<const std::vector<std::byte>>(out.take());
  cache.keep_snapshot(options_name(options),
                      {{*bytes, bytes}, external, std::move(holders.computed)});
}

}  // namespace parallax
