#include "parallax/model.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "base/caught.h"
#include "base/files/mapped_file.h"
#include "base/machine/fork.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "cache/weight_cache.h"
#include "load/model_file.h"
#include "planning/graph_snapshot.h"
#include "planning/passes.h"
#include "session/model_impl.h"
#include "session/runtime_impl.h"

namespace parallax {
namespace {

TensorInfo info_of(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  TensorInfo info{value.name, value.dtype, {}};
  if (value.container != nullptr) {
    info.containers = value.container->types;
    info.key = value.container->key;
  }
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

/// Returns the symbols that the shapes of inputs name, in the order in which they first occur.
std::vector<SymbolId> free_symbols(const Graph& graph) {
  std::vector<SymbolId> result;
  for (const ValueId input : graph.inputs)
    for (const Expr& expr : graph.values[input].shape)
      for (const SymbolId symbol : expr.symbols())
        if (std::find(result.begin(), result.end(), symbol) == result.end())
          result.push_back(symbol);
  return result;
}

Result<ModelSource> open_model(const std::filesystem::path& path) {
  PX_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;  // a model whose path cannot be resolved is read without links
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  return ModelSource{{file->bytes(), file, folder, real.parent_path()},
                     ModelSource::File{path, file->identity()}};
}

/// Returns the model in the source, as options choose it.
Result<ModelBytes> find_model_of(const ModelSource& source, const LoadOptions& options) {
  auto model = find_model(source.model, options.section);
  if (!model && source.file) model.error() = naming(source.file->path, model.error());
  return model;
}

Status check_load_options(const LoadOptions& options) {
  if (options.max_nesting < 0 || options.max_nesting > kMaxNesting) {
    return tl::unexpected(Error{Stage::kLoad,
                                ErrorCode::kInvalidInput,
                                {},
                                "max_nesting must be 0 to " + std::to_string(kMaxNesting)});
  }
  return check_pass_names(options.disabled_passes);
}

/// Loads one model.
class Loader {
 public:
  /// `runtime` null: there is no cache, and sessions use Runtime::shared(), which is not held.
  Loader(const LoadOptions& options, const Runtime* runtime)
      : options_(options), runtime_(runtime == nullptr ? nullptr : Access::impl(*runtime).get()) {
    if (runtime_ != nullptr) weights_->packed.use(runtime_->source);
  }

  Result<std::shared_ptr<Model::Impl>> run(const std::filesystem::path& path) {
    PX_ASSIGN(source_, open_model(path));
    return load();
  }
  Result<std::shared_ptr<Model::Impl>> run(ModelBytes model) {
    PX_RETURN_IF_ERROR(check_memory(model.bytes));
    source_.model = std::move(model);
    return load();
  }

 private:
  Result<std::shared_ptr<Model::Impl>> load() {
    std::shared_ptr<WeightCache> cache;
    if (runtime_ != nullptr && !runtime_->options.cache.empty())
      cache = open_cache(runtime_->options.cache, source_, runtime_->log);
    times_.map_ms = watch_.lap();
    PX_ASSIGN(model_, find_model_of(source_, options_));
    auto loaded = cache == nullptr ? std::nullopt : graph_from_snapshot(*cache, model_, options_);
    times_.parse_ms = watch_.lap();
    const bool from_snapshot = loaded.has_value();
    if (!from_snapshot) {
      PX_ASSIGN(loaded, read(cache.get()));
    }
    auto impl = Model::Impl::finish(*std::move(loaded), weights_);
    impl->weights().packed.use(cache);
    impl->weights().constants.use(cache);
    // A snapshot has none: the file is there, and its few texts outside the graph are read quickly.
    PX_ASSIGN(impl->metadata, read_metadata(model_.bytes, impl->graph().name));
    (from_snapshot ? times_.parse_ms : times_.passes_ms) += watch_.lap();
    impl->prefault = std::move(prefault_);
    impl->disabled_passes = options_.disabled_passes;
    impl->load_times = times_;
    return impl;
  }

  /// Parses the file and runs the passes.
  Result<LoadedGraph> read(WeightCache* cache) {
    std::vector<NamedFile> external;
    const PassContext context = load_context();
    Result<Graph> graph = load_model(model_, options_, &external, context.quota.get());
    if (!graph && source_.file) graph.error() = naming(source_.file->path, graph.error());
    if (!graph) return tl::unexpected(std::move(graph).error());
    LoadedGraph loaded{*std::move(graph), 0};
    loaded.file_nodes = static_cast<int>(loaded.graph.nodes.size());
    if (prefaults()) prefault_ = std::make_unique<WeightPrefault>(loaded.graph, weights_);
    times_.parse_ms += watch_.lap();
    PX_RETURN_IF_ERROR(run_all_passes(loaded, context, options_.disabled_passes));
    // The pages that parsing touched hold weights that are not needed yet as well: 20 MB on CLIP.
    release_pages(model_.bytes);
    times_.passes_ms = watch_.lap();
    // A graph without what the account had no bytes for must not be cached: it would be missing
    // also if there is memory the next time.
    if (cache == nullptr || context.quota->left_out()) return loaded;
    if (!may_hash(external, context.quota->weights())) {
      cache->close("files next to the model are too large to hash");
      return loaded;
    }
    keep_snapshot(*cache, loaded, model_, external, options_);
    times_.map_ms += watch_.lap();
    return loaded;
  }

  /// Whether to prefault memory for weights. With a user-provided pool the library has no threads.
  bool prefaults() const {
    return runtime_ == nullptr ||
           (runtime_->source->prefault() && runtime_->options.pool == nullptr);
  }

  const LoadOptions& options_;
  const Runtime::Impl* const runtime_;
  ModelSource source_;  ///< the whole file, which the cache knows
  ModelBytes model_;    ///< the model in it
  const std::shared_ptr<GraphContext::Weights> weights_ = std::make_shared<GraphContext::Weights>();
  std::unique_ptr<WeightPrefault> prefault_;
  Stopwatch watch_;
  LoadTimes times_;
};

/// Wraps the public load(): checks the options, loads from `source`, a path or bytes, and converts
/// exceptions to errors.
template <class Source>
Result<std::shared_ptr<Model::Impl>> load_from(Source source, const LoadOptions& options,
                                               const Runtime* runtime) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    PX_RETURN_IF_ERROR(check_load_options(options));
    PX_ASSIGN(auto impl, Loader(options, runtime).run(std::move(source)));
    if (runtime != nullptr) impl->runtime = *runtime;
    return impl;
  } catch (...) {
    return tl::unexpected(caught(Stage::kLoad));
  }
}

/// Wraps the public check(): as load_from(). `open` returns the source.
template <class Open>
Result<std::vector<UnsupportedNode>> check_source(const LoadOptions& options, Open open) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    PX_RETURN_IF_ERROR(check_load_options(options));
    PX_ASSIGN(const ModelSource source, open());
    PX_ASSIGN(const ModelBytes model, find_model_of(source, options));
    auto nodes = check_model(model, options);
    if (!nodes && source.file) nodes.error() = naming(source.file->path, nodes.error());
    return nodes;
  } catch (...) {
    return tl::unexpected(caught(Stage::kLoad));
  }
}

}  // namespace

Error naming(const std::filesystem::path& path, Error error) {
  if (error.node.empty()) error.message = "'" + path.string() + "': " + error.message;
  return error;
}

Status check_memory(std::span<const std::byte> file) {
  if (file.data() != nullptr || file.empty()) return {};
  return tl::unexpected(
      Error{Stage::kLoad, ErrorCode::kInvalidInput, {}, "a model without memory"});
}

std::shared_ptr<Model::Impl> Model::Impl::finish(LoadedGraph loaded,
                                                 std::shared_ptr<GraphContext::Weights> weights) {
  std::shared_ptr<Impl> impl(new Impl, [](const Impl* old) {
    const Call call;
    // After an unsafe fork, locks shared with other models may be held for ever.
    if (!forked_during_call()) delete old;
  });
  impl->file_nodes = loaded.file_nodes;
  impl->passes = std::move(loaded.passes);
  impl->metadata.graph_name = loaded.graph.name;
  impl->forms = std::make_shared<GraphVariants>(std::move(loaded.graph),
                                                std::move(loaded.canonical), std::move(weights));
  for (const ValueId id : impl->graph().inputs) impl->inputs.push_back(info_of(impl->graph(), id));
  for (const ValueId id : impl->graph().outputs)
    impl->outputs.push_back(info_of(impl->graph(), id));
  const std::size_t states = impl->graph().states.size();
  for (std::size_t i = states; i > 0; --i)
    impl->ties.push_back({impl->inputs.end()[-static_cast<std::ptrdiff_t>(i)].name,
                          impl->outputs.end()[-static_cast<std::ptrdiff_t>(i)].name});
  for (const SymbolId id : free_symbols(impl->graph()))
    impl->symbols.push_back(impl->graph().symbols[id].name);
  return impl;
}

Result<Model> Model::Impl::make(Graph graph, const LoadOptions& options) {
  const int file_nodes = static_cast<int>(graph.nodes.size());
  PX_RETURN_IF_ERROR(check_pass_names(options.disabled_passes));
  LoadedGraph loaded{std::move(graph), file_nodes};
  PX_RETURN_IF_ERROR(run_all_passes(loaded, load_context(), options.disabled_passes));
  auto impl = finish(std::move(loaded), nullptr);
  impl->disabled_passes = options.disabled_passes;
  return Model(std::move(impl));
}

Result<Model> Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  PX_ASSIGN(auto impl, load_from(std::cref(path), options, nullptr));
  return Model(std::move(impl));
}

Result<Model> Model::load(const std::filesystem::path& path, const LoadOptions& options,
                          const Runtime& runtime) {
  PX_ASSIGN(auto impl, load_from(std::cref(path), options, &runtime));
  return Model(std::move(impl));
}

Result<Model> Model::load(ModelBytes model, const LoadOptions& options) {
  PX_ASSIGN(auto impl, load_from(std::move(model), options, nullptr));
  return Model(std::move(impl));
}

Result<Model> Model::load(ModelBytes model, const LoadOptions& options, const Runtime& runtime) {
  PX_ASSIGN(auto impl, load_from(std::move(model), options, &runtime));
  return Model(std::move(impl));
}

Result<std::vector<UnsupportedNode>> Model::check(const std::filesystem::path& path,
                                                  const LoadOptions& options) {
  return check_source(options, [&] { return open_model(path); });
}

Result<std::vector<UnsupportedNode>> Model::check(ModelBytes model, const LoadOptions& options) {
  return check_source(options, [&]() -> Result<ModelSource> {
    PX_RETURN_IF_ERROR(check_memory(model.bytes));
    return ModelSource{std::move(model), std::nullopt};
  });
}

std::vector<std::string> Model::passes() { return pass_names(); }

const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<Tie>& Model::ties() const { return impl_->ties; }
const std::vector<std::string>& Model::symbols() const { return impl_->symbols; }
int Model::file_nodes() const { return impl_->file_nodes; }
int Model::nodes() const { return static_cast<int>(impl_->graph().nodes.size()); }
const LoadTimes& Model::load_times() const { return impl_->load_times; }
const ModelMetadata& Model::metadata() const { return impl_->metadata; }
CacheReport Model::cache() const {
  const Call call;
  if (forked_during_call()) return {};
  const WeightCache* const cache = impl_->weights().packed.cache();
  try {
    return cache == nullptr ? CacheReport{} : cache->report();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace parallax
