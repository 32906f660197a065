#include "bind/evaluate.h"

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/registry.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// The results while they are computed. Kernels that size their outputs request memory from it.
class Results final : public DynamicOutputs {
 public:
  /// `into`: the memory of the only output; null: memory is allocated for each.
  Results(const Graph& graph, const Node& node, std::span<std::byte> into)
      : graph_(graph),
        node_(node),
        into_(into),
        constants_(node.outputs.size()),
        data_(node.outputs.size()) {}

  Result<std::byte*> allocate(int output, const Dims& dims) override {
    const auto i = static_cast<std::size_t>(output);
    if (i >= node_.outputs.size() || !node_.outputs[i].valid())
      return tl::unexpected(error(ErrorCode::kInternal, "sized an output it lacks"));
    const DType dtype = graph_.values[node_.outputs[i]].dtype;
    const auto bytes = bytes_of(dtype, dims);
    if (into_.data() != nullptr) {
      if (bytes != std::ssize(into_))
        return tl::unexpected(error(ErrorCode::kInternal, "has another size than was inferred"));
      return data_[i] = into_.data();
    }
    if (!bytes || *bytes > kMaxFoldedBytes - total_) {
      return tl::unexpected(error(ErrorCode::kUnsupported,
                                  "a result of shape " + dims.to_string() + " is not folded"));
    }
    total_ += *bytes;
    PX_ASSIGN(AlignedBytes memory, AlignedBytes::allocate(*bytes));
    const auto owner = std::make_shared<const AlignedBytes>(std::move(memory));
    data_[i] = owner->data();
    constants_[i] = {dtype, dims, {owner->data(), static_cast<std::size_t>(*bytes)}, owner};
    return data_[i];
  }

  Error error(ErrorCode code, std::string message) const {
    return {Stage::kSimplify, code, node_.name,
            fmt::format("{}: {}", to_string(node_.op), std::move(message))};
  }
  std::span<std::byte* const> data() const { return data_; }
  std::vector<Constant> take() { return std::move(constants_); }

 private:
  const Graph& graph_;
  const Node& node_;
  const std::span<std::byte> into_;
  std::vector<Constant> constants_;
  std::vector<std::byte*> data_;
  std::int64_t total_ = 0;
};

/// Constants as kernels read them: aligned, or else copied.
struct Operands {
  std::vector<TensorDesc> descs;
  std::vector<RuntimeInput> inputs;
  std::vector<const std::byte*> bytes;
  std::vector<AlignedBytes> copies;
};

Result<Operands> gather(const Graph& graph, const Node& node, const Results& results) {
  Operands operands;
  for (const ValueId id : node.inputs) {
    operands.descs.emplace_back();
    operands.inputs.emplace_back();
    operands.bytes.push_back(nullptr);
    if (!id.valid()) continue;
    const auto& constant = graph.values[id].constant;
    if (!constant) return tl::unexpected(results.error(ErrorCode::kUnsupported, "not constant"));
    const std::byte* data = constant->bytes.data();
    if (reinterpret_cast<std::uintptr_t>(data) % kAlignment != 0) {
      const auto size = static_cast<std::int64_t>(constant->bytes.size());
      PX_ASSIGN(AlignedBytes copy, AlignedBytes::allocate(size));
      if (size > 0) std::memcpy(copy.data(), data, constant->bytes.size());
      data = copy.data();
      operands.copies.push_back(std::move(copy));
    }
    operands.descs.back() = {true, constant->dtype, constant->dims, data};
    operands.inputs.back() = {true, constant->dtype, constant->dims, data};
    if (!constant->bytes.empty()) operands.bytes.back() = data;
  }
  return operands;
}

Status evaluate(const Graph& graph, const Node& node, Results& results) {
  PX_ASSIGN(Operands operands, gather(graph, node, results));
  PX_ASSIGN(const std::vector<std::optional<Dims>> dims, infer_runtime(node, operands.inputs));
  std::vector<TensorDesc> outputs(node.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    outputs[i] = {true, graph.values[node.outputs[i]].dtype, dims[i].value_or(Dims{}), nullptr};
    if (dims[i]) PX_RETURN_IF_ERROR(results.allocate(static_cast<int>(i), *dims[i]));
  }
  PackedWeights packed;
  PX_ASSIGN(const MadeKernel made, make_kernel({node, operands.descs, outputs, packed}, true));
  const Kernel& kernel = *made.kernel;
  for (std::size_t i = 0; i < operands.bytes.size(); ++i)
    if (kernel.input_use(i) == InputUse::kNone) operands.bytes[i] = nullptr;
  PX_ASSIGN(const AlignedBytes scratch, AlignedBytes::allocate(kernel.scratch_bytes()));
  const KernelArgs args{operands.bytes,
                        results.data(),
                        {scratch.data(), static_cast<std::size_t>(scratch.size())},
                        kernel.dynamic_outputs() ? &results : nullptr};
  for (std::int64_t tile = 0; tile < kernel.tiles(); ++tile)
    PX_RETURN_IF_ERROR(kernel.run_tile(tile, args));
  return {};
}

}  // namespace

Result<std::vector<Constant>> evaluate_node(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  Results results(graph, node, {});
  PX_RETURN_IF_ERROR(evaluate(graph, node, results));
  return results.take();
}

Status evaluate_into(const Graph& graph, NodeId id, std::span<std::byte> into) {
  const Node& node = graph.nodes[id];
  Results results(graph, node, into);
  return evaluate(graph, node, results);
}

}  // namespace parallax
