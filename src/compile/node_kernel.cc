#include <utility>

#include "base/status.h"
#include "compile/compiled.h"
#include "ops/deferred.h"

namespace parallax {
namespace {

/// Given-back pages pay off for large weights only.
constexpr std::size_t kReleasedBytes = std::size_t{64} << 10;

TensorDesc describe(const Compiled& compiled, ValueId id, const Dims& dims) {
  if (!id.valid()) return {};
  const auto& constant = compiled.graph().values[compiled.root[id]].constant;
  TensorDesc tensor{true, compiled.graph().values[id].dtype, dims,
                    compiled.fixed[compiled.root[id]]};
  if (!constant) return tensor;
  tensor.is_half = constant->is_half;
  tensor.units = constant->units.get();
  if (deferred_depth(*constant) == 0) return tensor;
  if (auto stored = stored_form(*constant, dims))
    tensor.stored = std::make_shared<const StoredForm>(*std::move(stored));
  return tensor;
}

/// Records which inputs the kernel reads. Mapped pages of constants that are packed or copied first
/// are released afterwards; another reader gets them from the file again.
void find_reads(const Compiled& compiled, const Node& node, std::span<const TensorDesc> inputs,
                PackingList& packings, NodeKernel& code) {
  code.reads.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputUse use = code.kernel->input_use(i);
    code.reads[i] = inputs[i].present && inputs[i].elements() > 0 && use != InputUse::kNone;
    if (!inputs[i].present) continue;
    const Constant* const constant = constant_of(compiled, node.inputs[i]);
    if (constant == nullptr || constant->bytes.size() < kReleasedBytes) continue;
    const bool copied = use == InputUse::kAligned && !ConstantStore::is_aligned(*constant);
    if (!code.reads[i] || copied) packings.release_after(constant->bytes);
  }
}

}  // namespace

const Constant* constant_of(const Compiled& compiled, ValueId id) {
  const auto& constant = compiled.graph().values[compiled.root[id]].constant;
  return constant ? &*constant : nullptr;
}

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
  find_reads(compiled, node, input_descs, packings, code);
  if (!packings.empty()) code.packings = std::make_shared<const PackingList>(std::move(packings));
  return code;
}

}  // namespace parallax
