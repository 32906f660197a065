#include <utility>

#include "base/status.h"
#include "compile/program.h"

namespace parallax {
namespace {

/// Given-back pages pay off for large weights only.
constexpr std::size_t kReleasedBytes = std::size_t{64} << 10;

TensorDesc describe(const Compiled& compiled, ValueId id, const Dims& dims) {
  if (!id.valid()) return {};
  return {true, compiled.graph().values[id].dtype, dims, compiled.fixed[compiled.root[id]]};
}

/// The constant whose bytes `id` has, null where there is none.
const Constant* constant_of(const Compiled& compiled, ValueId id) {
  const auto& constant = compiled.graph().values[compiled.root[id]].constant;
  return constant ? &*constant : nullptr;
}

/// Fetches the fixed inputs as the kernel wants to read them. The mapped pages of those that it
/// does not read once packed are released then; another reader gets them from the file again.
Status bind_inputs(const Compiled& compiled, const Node& node, std::span<const TensorDesc> inputs,
                   PackingList& packings, NodeKernel& code) {
  code.fixed.resize(inputs.size());
  code.reads.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputUse use = code.kernel->input_use(i);
    code.reads[i] = inputs[i].present && inputs[i].elements() > 0 && use != InputUse::kNone;
    if (!inputs[i].present || inputs[i].data == nullptr) continue;
    const Constant* const constant = constant_of(compiled, node.inputs[i]);
    if (code.reads[i]) {
      code.fixed[i] = inputs[i].data;
      if (use == InputUse::kAligned && constant != nullptr) {
        PX_ASSIGN(code.fixed[i], compiled.context->constants.aligned(*constant));
      }
    }
    if (constant != nullptr && code.fixed[i] != inputs[i].data &&
        constant->bytes.size() >= kReleasedBytes)
      packings.release_after(constant->bytes);
  }
  return {};
}

}  // namespace

Result<NodeKernel> make_node_kernel(const Compiled& compiled, NodeId id,
                                    std::span<const Dims> inputs, std::span<const Dims> outputs) {
  const Node& node = compiled.graph().nodes[id];
  std::vector<TensorDesc> input_descs;
  std::vector<TensorDesc> output_descs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    input_descs.push_back(describe(compiled, node.inputs[i], inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    output_descs.push_back(describe(compiled, node.outputs[i], outputs[i]));
  PackingList packings;
  PackedWeights packed(compiled.context->packed, packings);
  PX_ASSIGN(MadeKernel made, make_inferred_kernel({node, input_descs, output_descs, packed,
                                                   compiled.kernels.precision},
                                                  compiled.kernels.reference_only));
  NodeKernel code;
  code.kernel = std::move(made.kernel);
  code.row = made.row;
  code.tiles = code.kernel->tiles();
  PX_RETURN_IF_ERROR(bind_inputs(compiled, node, input_descs, packings, code));
  if (!packings.empty()) code.packings = std::make_shared<const PackingList>(std::move(packings));
  return code;
}

std::size_t RunTimeKernels::KeyHash::operator()(const Key& key) const {
  auto hash = static_cast<std::size_t>(key.first.value);
  for (const Dims& dims : key.second) {
    hash = mixed_hash(hash, dims.rank());
    for (const std::int64_t dim : dims) hash = mixed_hash(hash, dim);
  }
  return hash;
}

std::shared_ptr<const NodeKernel> RunTimeKernels::find(const Key& key) {
  const MutexLock lock(mutex_);
  const auto* const found = kernels_.find(key);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<const NodeKernel> RunTimeKernels::insert(Key key, NodeKernel kernel) {
  auto shared = std::make_shared<const NodeKernel>(std::move(kernel));
  const MutexLock lock(mutex_);
  if (const auto* const present = kernels_.find(key)) return *present;
  kernels_.insert(std::move(key), shared);
  table_bytes_ += shared->kernel->table_bytes();
  while (kernels_.size() > kCapacity || (kernels_.size() > 1 && table_bytes_ > kTableBytes)) {
    table_bytes_ -= kernels_.oldest()->kernel->table_bytes();
    kernels_.forget_oldest();
  }
  return shared;
}

std::size_t RunTimeKernels::size() const {
  const MutexLock lock(mutex_);
  return kernels_.size();
}

std::int64_t RunTimeKernels::table_bytes() const {
  const MutexLock lock(mutex_);
  return table_bytes_;
}

}  // namespace parallax
