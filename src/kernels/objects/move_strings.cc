// Operators that move or compare strings run their kernel for numbers: each string is replaced by
// its rank among all strings of the inputs, the empty one first, so that equal strings have equal
// numbers and their order is preserved.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "kernels/registry.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// Returns all distinct strings of the inputs, sorted.
std::vector<std::string_view> ranked(const ObjectCall& call) {
  std::vector<std::string_view> all = {""};
  for (const auto& input : call.inputs)
    if (input) all.insert(all.end(), input->strings().begin(), input->strings().end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Allocator of outputs whose size only the kernel knows, each a tensor of its own.
class MovedOutputs final : public DynamicOutputs {
 public:
  MovedOutputs(const ObjectCall& call, std::vector<TensorDesc>& descs, std::vector<Tensor>& tensors)
      : call_(call), descs_(descs), tensors_(tensors) {}

  Result<std::byte*> allocate(int output, const Dims& dims) override {
    const auto i = static_cast<std::size_t>(output);
    descs_[i].dims = dims;
    PX_ASSIGN(tensors_[i], take_tensor(call_, descs_[i].dtype, dims));
    return tensors_[i].mutable_view().bytes.data();
  }

 private:
  const ObjectCall& call_;
  std::vector<TensorDesc>& descs_;
  std::vector<Tensor>& tensors_;
};

/// One node on tensors of ranks.
class Mover {
 public:
  explicit Mover(const ObjectCall& call) : call_(call), strings_(ranked(call)) {}

  Status run() {
    PX_RETURN_IF_ERROR(read_inputs());
    PX_RETURN_IF_ERROR(find_outputs());
    PX_RETURN_IF_ERROR(compute());
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].present) PX_RETURN_IF_ERROR(write_output(i));
    return {};
  }

 private:
  Status read_inputs() {
    inputs_.resize(call_.inputs.size());
    ranks_.resize(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Object* const input = call_.input(i);
      if (input == nullptr) continue;
      const TensorView view = input->tensor_view();
      inputs_[i] = {true, view.dtype, view.dims, view.bytes.data()};
      if (view.dtype != DType::kString) continue;
      PX_ASSIGN(ranks_[i], take_tensor(call_, DType::kI64, view.dims));
      const MutableTensorView ranks = ranks_[i].mutable_view();
      auto* to = ranks.as<std::int64_t>();
      for (const std::string& text : input->strings())
        *to++ = std::ranges::lower_bound(strings_, text) - strings_.begin();
      inputs_[i].dtype = DType::kI64;
      inputs_[i].data = ranks.bytes.data();
    }
    return {};
  }

  /// Which results are strings, and how large they are: inference as for strings tells the one, as
  /// for ranks the other.
  Status find_outputs() {
    std::vector<RuntimeInput> seen;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TensorDesc& input = inputs_[i];
      seen.push_back({input.present, input.dtype, input.dims, input.data});
    }
    PX_ASSIGN(const auto dims, infer_runtime(call_.node, seen));
    outputs_.resize(call_.node.outputs.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].present = call_.node.outputs[i].valid();
      outputs_[i].dtype =
          call_.output_types[i] == DType::kString ? DType::kI64 : call_.output_types[i];
      if (i < dims.size() && dims[i]) outputs_[i].dims = *dims[i];
      sized_.push_back(i < dims.size() && dims[i].has_value());
    }
    return {};
  }

  Status compute() {
    PackedWeights packed;
    PX_ASSIGN(const MadeKernel made,
              make_inferred_kernel({call_.node, inputs_, outputs_, packed}, true));
    std::vector<const std::byte*> in;
    for (const TensorDesc& input : inputs_) in.push_back(input.data);
    results_.resize(outputs_.size());
    std::vector<std::byte*> out(outputs_.size(), nullptr);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].present || !sized_[i]) continue;
      PX_ASSIGN(results_[i], take_tensor(call_, outputs_[i].dtype, outputs_[i].dims));
      out[i] = results_[i].mutable_view().bytes.data();
    }
    MovedOutputs dynamic(call_, outputs_, results_);
    std::vector<std::byte> scratch_memory(
        static_cast<std::size_t>(made.kernel->scratch_bytes() + kAlignment));
    void* scratch = scratch_memory.data();
    std::size_t room = scratch_memory.size();
    std::align(static_cast<std::size_t>(kAlignment),
               static_cast<std::size_t>(made.kernel->scratch_bytes()), scratch, room);
    const KernelArgs args{in,
                          out,
                          {static_cast<std::byte*>(scratch), room},
                          made.kernel->dynamic_outputs() ? &dynamic : nullptr};
    for (std::int64_t tile = 0; tile < made.kernel->tiles(); ++tile)
      PX_RETURN_IF_ERROR(made.kernel->run_tile(tile, args));
    return {};
  }

  Status write_output(std::size_t i) {
    if (call_.output_types[i] != DType::kString) {
      PX_ASSIGN(call_.outputs[i], counted(call_, std::move(results_[i])));
      return {};
    }
    const TensorView ranks = results_[i].view();
    const auto count = static_cast<std::size_t>(ranks.dims.elements());
    PX_ASSIGN(const auto room,
              call_.memory.take(static_cast<std::int64_t>(count * sizeof(std::string))));
    std::vector<std::string> moved(count);
    for (std::size_t k = 0; k < count; ++k)
      moved[k] = strings_.at(static_cast<std::size_t>(ranks.as<std::int64_t>()[k]));
    PX_ASSIGN(call_.outputs[i], make_object(call_, ranks.dims, std::move(moved)));
    return {};
  }

  const ObjectCall& call_;
  const std::vector<std::string_view> strings_;
  std::vector<Tensor> ranks_, results_;
  std::vector<TensorDesc> inputs_, outputs_;
  std::vector<bool> sized_;
};

}  // namespace

Status move_strings(const ObjectCall& call) { return Mover(call).run(); }

}  // namespace parallax
