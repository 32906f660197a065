// Nodes whose shapes depend on values: shapes, kernels and memory are chosen when they are reached.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "bind/bind.h"
#include "ops/infer.h"
#include "run/control_flow/body_runner.h"
#include "run/run.h"

namespace parallax {
namespace {

Error error_of(ErrorCode code, const Node& node, std::string message) {
  return {Stage::kRun, code, node.name, std::move(message)};
}

}  // namespace

/// Allocates the outputs of a kernel that determines their sizes itself.
class BranchOutputs final : public DynamicOutputs {
 public:
  BranchOutputs(Run& run, NodeId node) : run_(run), node_(node) {}

  Result<std::byte*> allocate(int output, const Dims& dims) override {
    const Node& node = run_.graph().nodes[node_];
    const auto i = static_cast<std::size_t>(output);
    if (i >= node.outputs.size() || !node.outputs[i].valid())
      return tl::unexpected(error_of(ErrorCode::kInternal, node, "sized an output it lacks"));
    return run_.make_output(node_, node.outputs[i], dims);
  }

 private:
  Run& run_;
  const NodeId node_;
};

Result<std::vector<std::optional<Dims>>> Run::infer_outputs(const Node& node) const {
  std::vector<RuntimeInput> inputs(node.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!id.valid()) continue;
    inputs[i] = {true, graph().values[id].dtype, dims_of(id), nullptr};
    if (!op_def(node.op).decides_shape(i)) continue;
    inputs[i].bytes = bytes_of(id);
    if (const auto& constant = graph().values[compiled_.root[id]].constant) {
      PX_ASSIGN(inputs[i].bytes, compiled_.context->constants.aligned(*constant));
    }
  }
  return infer_runtime(node, inputs);
}

/// Returns a cached kernel for the same dimensions, or a new one.
Result<std::shared_ptr<const BoundKernel>> Run::kernel_for(
    NodeId id, std::span<const std::optional<Dims>> outputs) {
  const Node& node = graph().nodes[id];
  RunTimeKernels::Key key{id, {}};
  for (const ValueId input : node.inputs)
    key.second.push_back(input.valid() ? dims_of(input) : Dims{});
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    key.second.push_back(outputs[i].value_or(Dims{}));
  RunTimeKernels& kernels = program_.bound->run_time_kernels;
  if (auto kernel = kernels.find(key)) return kernel;
  const std::span<const Dims> dims = key.second;
  PX_ASSIGN(NodeKernel code, make_node_kernel(compiled_, id, dims.first(node.inputs.size()),
                                              dims.subspan(node.inputs.size())));
  PX_ASSIGN(BoundKernel kernel, bind_kernel(compiled_, id, std::move(code)));
  return kernels.insert(std::move(key), std::move(kernel));
}

DynamicArena& Run::arena_of(NodeId node) {
  auto& arena = arenas_[compiled_.context->position[node].branch];
  if (arena == nullptr) arena = std::make_unique<DynamicArena>(pool_, options_.poison);
  return *arena;
}

/// Binds the symbols of a shape. Dimensions that must be equal according to the model are checked
/// when the second one is known.
Status Run::bind_symbols(ValueId id, const Dims& dims) {
  const Value& value = graph().values[id];
  const MutexLock lock(mutex_);
  bool good = static_cast<std::size_t>(dims.rank()) == value.shape.size();
  for (int axis = 0; good && axis < dims.rank(); ++axis) {
    const Expr& expr = value.shape[static_cast<std::size_t>(axis)];
    if (const auto expected = expr.evaluate(symbol_values_)) {
      good = *expected == dims[axis];
    } else if (const auto symbols = expr.symbols();
               symbols.size() == 1 && expr == Expr::symbol(symbols[0])) {
      symbol_values_[static_cast<std::size_t>(symbols[0].value)] = dims[axis];
    }
  }
  if (good) return {};
  const Node& node = graph().nodes[value.producer];
  return tl::unexpected(
      error_of(ErrorCode::kInvalidInput, node,
               fmt::format("{}: a result of shape {} where the model's dimensions say {}",
                           to_string(node.op), dims.to_string(),
                           to_string(value.shape, graph().symbol_names()))));
}

Dims Run::known_dims(ValueId id) {
  if (const auto& planned = compiled_.dims[id]) return *planned;
  const MutexLock lock(mutex_);
  Dims dims;
  for (const Expr& dim : graph().values[id].shape)
    dims.push_back(dim.evaluate(symbol_values_).value_or(0));
  return dims;
}

/// Returns the memory of output `id`, whose dims are known now.
Result<std::byte*> Run::make_output(NodeId node, ValueId id, const Dims& dims) {
  if (graph().values[id].container == nullptr) PX_RETURN_IF_ERROR(bind_symbols(id, dims));
  if (compiled_.dims[id]) return bytes_of(id);
  if (is_object(graph().values[id])) {
    run_time_dims_[id] = dims;
    bytes_[id] = reinterpret_cast<std::byte*>(&objects_[id]);
    return bytes_[id];
  }
  const auto bytes = parallax::bytes_of(graph().values[id].dtype, dims);
  if (!bytes || *bytes < 0) {
    return tl::unexpected(error_of(ErrorCode::kOutOfMemory, graph().nodes[node],
                                   "a result of shape " + dims.to_string() + " is too large"));
  }
  run_time_dims_[id] = dims;
  // An output of a body is written to the memory that the node around it provides.
  if (const std::int32_t i = compiled_.output_of[id]; host_ != nullptr && i >= 0) {
    const auto output = static_cast<std::size_t>(i);
    PX_RETURN_IF_ERROR(place_output(output, dims));
    bytes_[id] = outputs_[output].bytes;
    if (outputs_[output].writable) return bytes_[id];
  }
  PX_ASSIGN(bytes_[id], arena_of(node).allocate(*bytes));
  return bytes_[id];
}

Status Run::run_unplanned(NodeId id, Participant& self, Buffers& buffers) {
  const Node& node = graph().nodes[id];
  PX_ASSIGN(const std::vector<std::optional<Dims>> dims, infer_outputs(node));
  if (op_def(node.op).aliasing == Aliasing::kView) {
    const ValueId output = node.outputs[0];
    if (!output.valid() || !dims[0]) return {};
    if (!compiled_.dims[output]) run_time_dims_[output] = *dims[0];
    return bind_symbols(output, *dims[0]);
  }
  PX_ASSIGN(const std::shared_ptr<const BoundKernel> made, kernel_for(id, dims));
  const NodeKernel& code = made->code;
  buffers.outputs.assign(node.outputs.size(), nullptr);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid() || !dims[i]) continue;
    PX_ASSIGN(buffers.outputs[i], make_output(id, node.outputs[i], *dims[i]));
  }
  Scratch scratch = scratch_;
  std::byte* own_scratch = nullptr;
  if (const std::int64_t bytes = code.kernel->scratch_bytes(); bytes > scratch.stride) {
    const auto stride = checked_align(bytes, kAlignment);
    const auto all = stride ? checked_mul(*stride, threads_) : std::nullopt;
    if (!all) return tl::unexpected(error_of(ErrorCode::kOutOfMemory, node, "scratch too large"));
    PX_ASSIGN(own_scratch, arena_of(id).allocate(*all));
    scratch = {own_scratch, *stride};
  }
  BranchOutputs outputs(*this, id);
  DynamicOutputs* const dynamic = code.kernel->dynamic_outputs() ? &outputs : nullptr;
  run_tiles(id, code, made->fixed, scratch, dynamic, self, buffers);
  if (own_scratch != nullptr) arena_of(id).free(own_scratch);
  if (!failed()) release_unread_outputs(node);
  return {};
}

/// Counts one reader of `root` as done.
void Run::release(ValueId root) {
  if (readers_[static_cast<std::size_t>(root.value)].fetch_sub(1) == 1) give_back(root);
}

/// Frees the bytes of `root`, which is no longer read.
void Run::give_back(ValueId root) {
  const Value& value = graph().values[root];
  if (value.kind == ValueKind::kConstant) return;
  if (value.kind == ValueKind::kInput) {
    // An object of the caller stays the caller's.
    if (host_ != nullptr) host_->let_go(static_cast<std::size_t>(program_.storage[root].position));
  } else if (is_object(value)) {
    objects_[root] = Object();
  } else if (bytes_[root] != nullptr) {  // null inside a region that a device ran
    arena_of(graph().values[root].producer).free(bytes_[root]);
  }
}

void Run::release_unread_outputs(const Node& node) {
  for (const ValueId output : node.outputs) {
    if (!output.valid() || compiled_.dims[output]) continue;
    if (compiled_.run_time_readers[output] == 0) give_back(output);
  }
}

}  // namespace parallax
