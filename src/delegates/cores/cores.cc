#include "delegates/cores/cores.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "base/c_types.h"
#include "base/caught.h"
#include "base/status.h"
#include "bind/bind.h"
#include "bind/evaluate.h"
#include "delegates/cores/cores_profile.h"
#include "delegates/cores/cores_queue.h"
#include "ir/region_reader.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"

namespace parallax {
namespace {

struct CoresDevice {
  CoresDevice(const CoresOptions& options_in, std::string profile_in)
      : options(options_in),
        device(fmt::format("{} thread{} of the CPU", options.threads,
                           options.threads == 1 ? "" : "s")),
        profile(std::move(profile_in)),
        queue(options.threads) {}

  const CoresOptions options;
  const std::string device, profile;
  CoresQueue queue;
};

/// The weights of a region are packed once for all its bindings.
struct CoresRegion {
  explicit CoresRegion(Graph graph_in) : graph(std::move(graph_in)), constants(places_of(graph)) {}

  static ConstantPlaces places_of(const Graph& graph) {
    std::vector<std::span<const std::byte>> all;
    for (const Value& value : graph.values)
      if (value.constant) all.push_back(value.constant->bytes);
    return parallax::places_of(std::move(all));
  }

  const Graph graph;
  const ConstantPlaces constants;  ///< those that all bindings have
  const std::shared_ptr<GraphContext::Weights> weights = std::make_shared<GraphContext::Weights>();
};

/// Calls what may throw; writes why it failed to `status`.
template <class Function>
px_code guarded(px_status* status, Function function) {
  Status done;
  try {
    done = function();
  } catch (...) {
    done = tl::unexpected(caught(Stage::kCompile));
  }
  if (done) return PX_OK;
  const px_status failure = to_c(done);
  if (status == nullptr) {
    if (failure.release != nullptr) failure.release(failure.owner);
    return failure.code;
  }
  const std::size_t room = status->size;
  *status = failure;
  status->size = room;
  return failure.code;
}

px_code open_cores(const px_open_options* options, void** device, px_status* status) {
  return guarded(status, [&]() -> Status {
    PX_ASSIGN(const CoresOptions wanted,
              parse_cores_options(options->text == nullptr ? "" : options->text));
    PX_ASSIGN(std::string profile, describe_cores(wanted));
    *device = new CoresDevice(wanted, std::move(profile));
    return {};
  });
}

px_code describe_device(void* device, px_description* description, px_status*) {
  const auto& cores = *static_cast<const CoresDevice*>(device);
  description->device = cores.device.c_str();
  description->driver = "";
  description->profile = cores.profile.c_str();
  description->memory = PX_MEMORY_HOST;
  return PX_OK;
}

px_code compile_region(void*, const px_region* region, px_compiled* compiled, px_status* status) {
  return guarded(status, [&]() -> Status {
    PX_ASSIGN(Graph graph, read_region(region));
    compiled->region = new CoresRegion{std::move(graph)};
    return {};
  });
}

/// Compiles the region as the CPU would run it: lowered, packed and with its layouts.
Result<std::shared_ptr<const Program>> program_of(const CoresRegion& region, const px_sizes& sizes,
                                                  int threads) {
  PX_ASSIGN(Graph graph, with_sizes(region.graph, &sizes));
  const IdVector<ValueId, Value> given = graph.values;
  PX_RETURN_IF_ERROR(verify(graph, Stage::kCompile));
  PX_RETURN_IF_ERROR(infer_graph(graph));
  for (const ValueId id : given.ids())
    if (graph.values[id].shape != given[id].shape)
      return tl::unexpected(Error{Stage::kCompile,
                                  ErrorCode::kInvalidInput,
                                  {},
                                  fmt::format("'{}' has another shape", given[id].name)});
  PX_RETURN_IF_ERROR(run_passes(lowering_passes(), graph, {evaluate_node, evaluate_into}));
  Binding binding;
  binding.symbols.resize(graph.symbols.size());
  auto context = std::make_shared<GraphContext>(std::move(graph), Delegation{}, region.weights,
                                                &region.constants);
  PX_ASSIGN(auto compiled, compile(std::move(context), binding, {}));
  PX_ASSIGN(auto bound, make_bound(std::move(compiled)));
  PX_RETURN_IF_ERROR(bind(*bound));
  return lay_out(std::move(bound), {.parallel = threads > 1, .threads = threads, .budget = {}});
}

using BoundProgram = std::shared_ptr<const Program>;

px_code bind_region(void* device, void* region, const px_sizes* sizes, px_binding* binding,
                    px_status* status) {
  return guarded(status, [&]() -> Status {
    PX_ASSIGN(auto program, program_of(*static_cast<const CoresRegion*>(region), *sizes,
                                       static_cast<const CoresDevice*>(device)->options.threads));
    binding->shared_bytes = program->bytes;
    binding->binding = new BoundProgram(std::move(program));
    return {};
  });
}

px_code run_region(void* device, void* binding, const px_run* run, px_done done, void* context,
                   px_status* status) {
  return guarded(status, [&]() -> Status {
    CoresJob job{*static_cast<const BoundProgram*>(binding), {}, {}, done, context};
    for (std::size_t i = 0; i < run->input_count; ++i)
      job.inputs.push_back(static_cast<const std::byte*>(run->inputs[i]->data));
    for (std::size_t i = 0; i < run->output_count; ++i)
      job.outputs.push_back(static_cast<std::byte*>(run->outputs[i]->data));
    static_cast<CoresDevice*>(device)->queue.add(std::move(job));
    return {};
  });
}

}  // namespace

const px_delegate* cores_delegate() {
  static const px_delegate table = [] {
    px_delegate made{};
    made.size = sizeof made;
    made.abi = PX_DELEGATE_ABI;
    made.name = "cores";
    made.open = open_cores;
    made.close = [](void* device) { delete static_cast<CoresDevice*>(device); };
    made.describe = describe_device;
    made.compile = compile_region;
    made.bind = bind_region;
    made.run = run_region;
    made.cancel = [](void* device, void*, void* context) {
      static_cast<CoresDevice*>(device)->queue.cancel(context);
    };
    made.unbind = [](void* device, void*, void* binding) {
      delete static_cast<BoundProgram*>(binding);
      // It may have been for this one alone.
      static_cast<CoresDevice*>(device)->queue.trim();
    };
    made.discard = [](void*, void* region) { delete static_cast<CoresRegion*>(region); };
    return made;
  }();
  return &table;
}

}  // namespace parallax
