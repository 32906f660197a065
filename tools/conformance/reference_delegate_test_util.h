// For tests: a delegate that is right, because it runs the reference kernels on what it is given,
// and wrong in the one way that it is told.
#pragma once

#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/c_types.h"
#include "base/mutex.h"
#include "base/status.h"
#include "bind/bind.h"
#include "ops/infer.h"
#include "parallax/delegate.h"
#include "run/execute.h"

namespace parallax::conformance {

/// Faults to plant in the reference delegate.
struct Defects {
  std::string profile;
  bool own_memory = false, host_sees_it = false;
  std::optional<OpKind> wrong_operator;  ///< one bit of its results
  bool wrong_for_odd = false;            ///< results with an odd number of elements
  bool wrong_when_bound_again = false;   ///< keeps the first binding's sizes
  bool wrong_at_once = false;            ///< two concurrent runs
  bool refuses_while_running = false;    ///< bind, as long as a run is under way
  bool answers_twice = false, answers_and_refuses = false, never_answers = false;
  bool forgets_cancelled = false;  ///< gives no answer to a run that was cancelled
  bool leaks = false;              ///< 64 KiB per compile
  bool leaves_out = false;         ///< the last element of a result
  bool writes_beside = false, writes_inputs = false;
  bool allocates_anything = false, fails_strangely = false;  ///< if there is no memory
  bool half = false;                                         ///< stores in 16 bits what it may
  std::optional<DType> lacks;                                ///< claimed, and refused by compile
  bool says_what_it_lacks = false;                           ///< supports refuses it, too
  bool changes_its_mind = false;  ///< each other answer of supports is a refusal
};
/// Those planted last. Earlier ones stay: a thread that never answers may still read them.
inline std::atomic<const Defects*>& planted_defects() {
  static const Defects kNone;
  static std::atomic<const Defects*> planted = &kNone;
  return planted;
}
inline const Defects& defects() { return *planted_defects().load(); }
/// Before a delegate is opened.
inline void plant(const Defects& wanted) {
  static auto* const kAll = new std::deque<Defects>;
  planted_defects() = &kAll->emplace_back(wanted);
}

struct ReferenceRegion {
  std::vector<std::string> names;
  std::vector<Value> values;  ///< without shapes
  std::vector<Node> nodes;
  std::vector<ValueId> inputs, outputs;
  bool half = false;
  std::vector<Dims> first_outputs;  ///< output shapes of the first binding
};

struct ReferenceBinding {
  std::shared_ptr<const Program> program;
  std::vector<Dims> first_outputs;
  bool wrong = false, half = false;
  std::atomic<int> runs{0};
};

struct ReferenceDevice {
  Mutex mutex;
  Condition ended;
  int under_way PX_GUARDED_BY(mutex) = 0;  ///< threads of runs, for which close waits
  std::set<void*> cancelled PX_GUARDED_BY(mutex);
};

inline Constant constant_of_tensor(const px_tensor& tensor) {
  Dims dims(std::span(tensor.dims, static_cast<std::size_t>(tensor.rank)));
  return make_constant(*dtype_from(tensor.dtype), dims,
                       {static_cast<const std::byte*>(tensor.data), tensor.bytes});
}

inline AttributeValue attribute_of(const px_attribute& given) {
  switch (given.kind) {
    case PX_ATTRIBUTE_INT:
      return given.integers[0];
    case PX_ATTRIBUTE_FLOAT:
      return given.floats[0];
    case PX_ATTRIBUTE_STRING:
      return std::string(given.text);
    case PX_ATTRIBUTE_INTS:
      return std::vector<std::int64_t>(given.integers, given.integers + given.count);
    case PX_ATTRIBUTE_FLOATS:
      return std::vector<float>(given.floats, given.floats + given.count);
    default:
      return constant_of_tensor(*given.tensor);
  }
}

inline Node node_of(const px_node& given) {
  Node node;
  node.name = given.name;
  node.op = *op_from_string(given.op);
  for (std::size_t i = 0; i < given.attribute_count; ++i)
    node.attributes.set(given.attributes[i]->name, attribute_of(*given.attributes[i]));
  for (std::size_t i = 0; i < given.input_count; ++i) node.inputs.push_back({given.inputs[i]});
  for (std::size_t i = 0; i < given.output_count; ++i) node.outputs.push_back({given.outputs[i]});
  return node;
}

inline px_code reference_compile(void*, const px_region* given, px_compiled* out,
                                 px_status* status) {
  if (defects().leaks) std::memset(::operator new(1 << 16), 1, 1 << 16);
  auto region = std::make_unique<ReferenceRegion>();
  for (std::size_t i = 0; i < given->value_count; ++i) {
    const px_value& from = *given->values[i];
    Value value;
    value.name = from.name;
    value.dtype = *dtype_from(from.type->dtype);
    if (value.dtype == defects().lacks)
      return px_fail(status, PX_UNSUPPORTED, "there is no such type on this device");
    if (from.constant != nullptr) {
      value.kind = ValueKind::kConstant;
      value.constant = constant_of_tensor(*from.constant);
    } else if (from.known_when_bound != 0) {
      value.kind = ValueKind::kSymbolic;  // a constant of each binding
    }
    region->values.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < given->node_count; ++i) {
    region->nodes.push_back(node_of(*given->nodes[i]));
    for (const ValueId output : region->nodes.back().outputs)
      if (output.valid())
        region->values[static_cast<std::size_t>(output.value)].producer =
            NodeId{static_cast<std::int32_t>(i)};
  }
  for (std::size_t i = 0; i < given->input_count; ++i) {
    region->inputs.push_back({given->inputs[i]});
    region->values[static_cast<std::size_t>(given->inputs[i])].kind = ValueKind::kInput;
  }
  for (std::size_t i = 0; i < given->output_count; ++i)
    region->outputs.push_back({given->outputs[i]});
  region->half = defects().half && given->storage == PX_FLOAT16;
  out->region = region.release();
  return PX_OK;
}

/// The region with these sizes.
inline Graph graph_of(const ReferenceRegion& region, const px_sizes& sizes) {
  Graph graph;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    Value value = region.values[i];
    const px_tensor& size = *sizes.values[i];
    if (value.kind == ValueKind::kSymbolic) {
      value.kind = ValueKind::kConstant;
      value.constant = constant_of_tensor(size);
    }
    if (value.kind != ValueKind::kResult)
      for (int axis = 0; axis < size.rank; ++axis) value.shape.emplace_back(size.dims[axis]);
    graph.values.push_back(std::move(value));
  }
  for (const Node& node : region.nodes) graph.nodes.push_back(node);
  graph.inputs = region.inputs;
  graph.outputs = region.outputs;
  return graph;
}

inline Result<std::shared_ptr<const Program>> program_of_graph(Graph graph) {
  PX_RETURN_IF_ERROR(infer_graph(graph));
  PX_RETURN_IF_ERROR(verify(graph, Stage::kCompile));
  PX_ASSIGN(auto compiled, compile(std::make_shared<GraphContext>(std::move(graph)), {},
                                   {.reference_only = true}));
  PX_ASSIGN(auto bound, make_bound(std::move(compiled)));
  PX_RETURN_IF_ERROR(parallax::bind(*bound));
  return lay_out(std::move(bound), {.parallel = false, .threads = 1, .budget = {}});
}

inline px_code reference_bind(void* device, void* handle, const px_sizes* sizes, px_binding* out,
                              px_status* status) {
  auto& region = *static_cast<ReferenceRegion*>(handle);
  if (defects().refuses_while_running) {
    auto& its = *static_cast<ReferenceDevice*>(device);
    const MutexLock lock(its.mutex);
    if (its.under_way > 0) return px_fail(status, PX_UNSUPPORTED, "the device is at work");
  }
  constexpr std::size_t kMemory = std::size_t{1} << 30;
  for (std::size_t i = 0; i < sizes->value_count; ++i)
    if (sizes->values[i]->bytes > kMemory)
      return px_fail(status, defects().fails_strangely ? PX_INTERNAL : PX_OUT_OF_MEMORY, "full");
  const auto program = program_of_graph(graph_of(region, *sizes));
  if (!program) return px_fail(status, PX_INTERNAL, "the region makes no sense");
  auto binding = std::make_unique<ReferenceBinding>();
  binding->program = *program;
  binding->half = region.half;
  const Compiled& compiled = binding->program->compiled();
  std::vector<Dims> dims;
  for (const ValueId output : compiled.graph().outputs) dims.push_back(*compiled.dims[output]);
  if (region.first_outputs.empty()) region.first_outputs = dims;
  binding->first_outputs = region.first_outputs;
  for (const Node& node : region.nodes) binding->wrong |= node.op == defects().wrong_operator;
  out->binding = binding.release();
  return PX_OK;
}

inline std::byte* address_of(const px_place& place) {
  return static_cast<std::byte*>(place.data != nullptr ? place.data : place.memory) + place.offset;
}

/// 11 bits of each float.
inline void round_to_half(std::byte* bytes, std::size_t size) {
  for (std::size_t i = 0; i + sizeof(float) <= size; i += sizeof(float)) {
    float x = 0;
    std::memcpy(&x, bytes + i, sizeof x);
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);
    x = std::ldexp(std::nearbyint(fraction * 2048) / 2048, exponent);
    std::memcpy(bytes + i, &x, sizeof x);
  }
}

/// Does to a result what was planted.
inline void spoil(const ReferenceBinding& binding, std::size_t i, DType dtype, const Dims& dims,
                  std::byte* bytes, std::size_t size, bool at_once) {
  const Defects& planted = defects();
  if (size == 0) return;
  if (binding.half && dtype == DType::kF32) round_to_half(bytes, size);
  const std::size_t element = size / static_cast<std::size_t>(dims.elements());
  std::byte* const last = bytes + size - element;
  const bool odd = dims.elements() > 1 && dims.elements() % 2 == 1;
  if (binding.wrong || (planted.wrong_for_odd && odd) || (planted.wrong_at_once && at_once))
    last[element - 1] ^= std::byte{1};
  if (planted.leaves_out) std::memset(last, 0xFF, element);
  const auto first = static_cast<std::size_t>(binding.first_outputs[i].elements()) * element;
  if (planted.wrong_when_bound_again && first < size) std::memset(bytes + first, 0, size - first);
  if (planted.writes_beside) bytes[size] = std::byte{0};
}

struct ReferencePlaces {
  std::vector<px_place> inputs, outputs;
};

inline Status reference_execute(ReferenceBinding& binding, const ReferencePlaces& places) {
  const bool at_once = ++binding.runs > 1;
  if (defects().wrong_at_once || defects().refuses_while_running)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const Compiled& compiled = binding.program->compiled();
  std::vector<const std::byte*> inputs;
  for (const px_place& place : places.inputs) inputs.push_back(address_of(place));
  const PlaceOutput place = [&](int i, DType, const Dims&) -> Result<std::byte*> {
    return address_of(places.outputs[static_cast<std::size_t>(i)]);
  };
  RunMemory memory;
  PX_ASSIGN(RunMemory::Lease lease, memory.acquire({binding.program->bytes, {}, false}));
  WorkerPool pool(1);
  Status status = execute(*binding.program, inputs, place, pool, lease, {});
  for (std::size_t i = 0; i < places.outputs.size(); ++i) {
    const ValueId id = compiled.graph().outputs[i];
    spoil(binding, i, compiled.graph().values[id].dtype, *compiled.dims[id],
          address_of(places.outputs[i]), places.outputs[i].bytes, at_once || binding.runs > 1);
  }
  if (defects().writes_inputs && !places.inputs.empty())
    address_of(places.inputs[0])[0] ^= std::byte{1};
  --binding.runs;
  return status;
}

inline px_code reference_run(void* handle, void* binding, const px_run* run, px_done done,
                             void* context, px_status* status) {
  auto& device = *static_cast<ReferenceDevice*>(handle);
  ReferencePlaces places;
  for (std::size_t i = 0; i < run->input_count; ++i) places.inputs.push_back(*run->inputs[i]);
  for (std::size_t i = 0; i < run->output_count; ++i) places.outputs.push_back(*run->outputs[i]);
  if (defects().never_answers) return PX_OK;
  const auto work = [&device, binding, places = std::move(places), done, context] {
    const Status status_of_run =
        reference_execute(*static_cast<ReferenceBinding*>(binding), places);
    {
      const MutexLock lock(device.mutex);
      if (device.cancelled.erase(context) > 0 && defects().forgets_cancelled) return;
    }
    done(context, status_of_run ? PX_OK : PX_INTERNAL, "the reference kernels");
    if (defects().answers_twice) done(context, PX_OK, nullptr);
  };
  if (defects().answers_and_refuses) {
    work();
    return px_fail(status, PX_IO, "after all not");
  }
  // Threads take longer than what they compute.
  static std::atomic<int> runs{0};
  const bool on_a_thread =
      defects().forgets_cancelled || defects().wrong_at_once || defects().refuses_while_running;
  if (++runs % 4 != 0 && !on_a_thread) {
    work();
    return PX_OK;
  }
  const MutexLock lock(device.mutex);
  ++device.under_way;
  std::thread([work, &device] {
    work();
    const MutexLock ending(device.mutex);
    --device.under_way;
    device.ended.notify_all();
  }).detach();
  return PX_OK;
}

inline px_code reference_copy(void* to, const void* from, std::size_t bytes, px_done done,
                              void* context) {
  std::memcpy(to, from, bytes);
  done(context, PX_OK, nullptr);
  return PX_OK;
}

inline px_code reference_allocate(void*, std::size_t bytes, px_memory* memory, px_status* status) {
  const bool fits = bytes <= std::size_t{1} << 30;
  if (!fits && !defects().allocates_anything)
    return px_fail(status, defects().fails_strangely ? PX_IO : PX_OUT_OF_MEMORY, "device full");
  memory->memory = ::operator new(fits ? bytes + 64 : 64);
  memory->host = defects().host_sees_it ? memory->memory : nullptr;
  return PX_OK;
}

inline px_code reference_supports(void*, const px_region* node, const px_sizes*,
                                  px_status* status) {
  static std::atomic<int> asked{0};
  if (defects().changes_its_mind && ++asked % 2 == 0)
    return px_fail(status, PX_UNSUPPORTED, "no longer");
  if (!defects().says_what_it_lacks) return PX_OK;
  for (std::size_t i = 0; i < node->value_count; ++i)
    if (node->values[i]->type->dtype == to_c(*defects().lacks))
      return px_fail(status, PX_UNSUPPORTED, "no such type today");
  return PX_OK;
}

inline px_delegate reference_delegate() {
  px_delegate table{};
  table.size = sizeof table;
  table.abi = PX_DELEGATE_ABI;
  table.name = "reference";
  table.open = [](const px_open_options*, void** device, px_status*) {
    *device = new ReferenceDevice;
    return px_code{PX_OK};
  };
  table.close = [](void* handle) {
    auto* const device = static_cast<ReferenceDevice*>(handle);
    {
      const MutexLock lock(device->mutex);
      while (device->under_way > 0) device->ended.wait(device->mutex);
    }
    delete device;
  };
  table.describe = [](void*, px_description* description, px_status*) {
    description->device = "the reference kernels";
    description->driver = "1.0";
    description->profile = defects().profile.c_str();
    description->memory = defects().own_memory ? PX_MEMORY_DEVICE : PX_MEMORY_HOST;
    return px_code{PX_OK};
  };
  table.compile = reference_compile;
  table.bind = reference_bind;
  table.run = reference_run;
  table.cancel = [](void* handle, void*, void* context) {
    auto& device = *static_cast<ReferenceDevice*>(handle);
    const MutexLock lock(device.mutex);
    device.cancelled.insert(context);
  };
  table.unbind = [](void*, void*, void* binding) {
    delete static_cast<ReferenceBinding*>(binding);
  };
  table.discard = [](void*, void* region) { delete static_cast<ReferenceRegion*>(region); };
  table.allocate = reference_allocate;
  table.release = [](void*, void* memory) { ::operator delete(memory); };
  table.write = [](void*, void* memory, std::size_t offset, const void* from, std::size_t bytes,
                   px_done done, void* context, px_status*) {
    return reference_copy(static_cast<char*>(memory) + offset, from, bytes, done, context);
  };
  table.read = [](void*, void* memory, std::size_t offset, void* to, std::size_t bytes,
                  px_done done, void* context, px_status*) {
    return reference_copy(to, static_cast<char*>(memory) + offset, bytes, done, context);
  };
  table.supports = reference_supports;
  return table;
}

}  // namespace parallax::conformance
