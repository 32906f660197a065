#include "parallax/model.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/mapped_file.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "cache/weight_cache.h"
#include "execute/evaluate.h"
#include "kernels/packing_version.h"
#include "load/onnx/onnx.h"
#include "passes/pass.h"
#include "session/model_impl.h"

namespace parallax {
namespace {

TensorInfo info_of(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  TensorInfo info{value.name, value.dtype, {}};
  const std::vector<std::string> names = graph.symbol_names();
  for (const Expr& expr : value.shape) {
    if (const auto fixed = expr.constant()) {
      info.shape.push_back({*fixed, {}});
    } else {
      info.shape.push_back({-1, expr.to_string(names)});
    }
  }
  return info;
}

/// The symbols that an input's shape names, in the order in which they first occur.
std::vector<SymbolId> free_symbols(const Graph& graph) {
  std::vector<SymbolId> result;
  for (const ValueId input : graph.inputs)
    for (const Expr& expr : graph.values[input].shape)
      for (const SymbolId symbol : expr.symbols())
        if (std::find(result.begin(), result.end(), symbol) == result.end())
          result.push_back(symbol);
  return result;
}

/// An error that no node is to blame for says which file it is about.
Error naming(const std::filesystem::path& path, Error error) {
  if (error.node.empty()) error.message = "'" + path.string() + "': " + error.message;
  return error;
}

/// Constants that do not lie in a file, those of bodies (LoadOptions::max_nesting deep at most)
/// too.
void add_computed(const Graph& graph, std::vector<SharedBytes>& constants) {
  for (const Value& value : graph.values)
    if (value.constant && !mapped_place(value.constant->bytes.data()))
      constants.push_back({value.constant->bytes, value.constant->owner});
  for (const Node& node : graph.nodes)
    for (const auto& body : node.bodies) add_computed(*body, constants);
}

std::shared_ptr<WeightCache> open_cache(const std::string& folder, const ModelFile& file,
                                        const Graph& graph) {
  std::vector<SharedBytes> computed;
  add_computed(graph, computed);
  return std::make_shared<WeightCache>(
      WeightCache::Options{folder, file.path, packing_machine(), packing_version()}, file.mapped,
      std::move(computed));
}

}  // namespace

Result<Model> Model::Impl::make(Graph graph, const LoadOptions& options, LoadTimes times,
                                const ModelFile& file) {
  Stopwatch watch;
  auto impl = std::make_shared<Impl>();
  impl->file_nodes = static_cast<int>(graph.nodes.size());
  PX_RETURN_IF_ERROR(run_passes(graph, {evaluate_node}, options.disabled_passes));
  impl->forms = std::make_shared<GraphForms>(std::move(graph));
  for (const ValueId id : impl->graph().inputs) impl->inputs.push_back(info_of(impl->graph(), id));
  for (const ValueId id : impl->graph().outputs)
    impl->outputs.push_back(info_of(impl->graph(), id));
  for (const SymbolId id : free_symbols(impl->graph()))
    impl->symbols.push_back(impl->graph().symbols[id].name);
  impl->load_times = times;
  impl->load_times.passes = watch.lap();
  if (!options.cache.empty() && file.mapped != nullptr) {
    // What parsing touched lies beside weights that nobody reads any more: 20 MB on CLIP.
    release_pages(file.mapped->bytes());
    impl->packed().use(open_cache(options.cache, file, impl->graph()));
    impl->load_times.map += watch.lap();
  }
  return Model(std::move(impl));
}

Result<Model> Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  try {
    if (options.max_nesting < 0 || options.max_nesting > kMaxNesting) {
      return tl::unexpected(Error{Stage::kLoad,
                                  ErrorCode::kInvalidInput,
                                  {},
                                  "max_nesting must be 0 to " + std::to_string(kMaxNesting)});
    }
    Stopwatch watch;
    LoadTimes times;
    PX_ASSIGN(auto file, MappedFile::open(path));
    times.map = watch.lap();
    Result<Graph> graph = load_onnx({file->bytes(), file, path.parent_path()}, options.max_nesting);
    if (!graph) return tl::unexpected(naming(path, std::move(graph).error()));
    times.parse = watch.lap();
    return Impl::make(*std::move(graph), options, times, {path, file});
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Error{Stage::kLoad, ErrorCode::kOutOfMemory, {}, "out of memory"});
  }
}

const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<std::string>& Model::symbols() const { return impl_->symbols; }
int Model::file_nodes() const { return impl_->file_nodes; }
int Model::nodes() const { return static_cast<int>(impl_->graph().nodes.size()); }
const LoadTimes& Model::load_times() const { return impl_->load_times; }
CacheReport Model::cache() const {
  const WeightCache* const cache = impl_->packed().cache();
  return cache == nullptr ? CacheReport{} : cache->report();
}

}  // namespace parallax
