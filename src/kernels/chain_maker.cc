// Makes the kernel of a chain: assigns a slot or an output to each step, and chooses what runs it.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/chain_kernel_impl.h"
#include "kernels/registry.h"

namespace parallax {
namespace {

using OperandKind = ChainOperand::Kind;
constexpr std::int64_t kSlotAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

tl::unexpected<Error> chain_error(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kCompile, code, {}, std::move(message)});
}

/// Returns whether `dims` broadcasts to `to`. One element does, of any rank: bounds of Clip.
bool goes_into(const Dims& dims, const Dims& to) {
  if (dims.elements() == 1) return true;
  const int missing = to.rank() - dims.rank();
  for (int d = 0; d < dims.rank(); ++d)
    if (missing < 0 || (dims[d] != 1 && dims[d] != to[d + missing])) return false;
  return true;
}

}  // namespace

/// Makes the kernel of one request.
class ChainMaker {
 public:
  ChainMaker(const KernelRequest& request, const ChainKernelOptions& options,
             const ChainProgram& program)
      : request_(request), options_(options), program_(program) {}

  Result<std::unique_ptr<Kernel>> make() {
    std::vector<Dims> dims;
    std::vector<std::int64_t> sizes;
    for (const TensorDesc& input : request_.inputs) {
      dims.push_back(input.dims);
      sizes.push_back(size_of(input.dtype));
    }
    kernel_ = std::make_unique<ChainKernel>(
        ChainBlocks(request_.outputs[0].dims, dims, options_.block), std::move(sizes));
    for (const TensorDesc& output : request_.outputs)
      kernel_->output_sizes_.push_back(size_of(output.dtype));
    kernel_->tiles_ = options_.tiles(kernel_->blocks_.count(),
                                     kernel_->blocks_.elements() * std::ssize(program_.steps));
    std::int64_t widest = 1;
    for (const ChainStep& step : program_.steps) widest = std::max(widest, size_of(step.dtype));
    for (const std::int64_t size : kernel_->input_sizes_) widest = std::max(widest, size);
    kernel_->run_registers_ = options_.run_registers;
    kernel_->slot_bytes_ = aligned(kernel_->blocks_.elements() * widest);
    for (const ChainStep& step : program_.steps) PX_RETURN_IF_ERROR(add_step(step));
    allocate();
    return std::unique_ptr<Kernel>(std::move(kernel_));
  }

 private:
  bool is_single(const ChainOperand& operand) const {
    return operand.kind == OperandKind::kInput &&
           kernel_->blocks_.input(operand.index) == BlockInput::kSingle;
  }

  /// Describes an operand as a tensor of a block of n elements.
  TensorDesc describe(const ChainOperand& operand, std::int64_t n) const {
    TensorDesc desc;
    if (operand.kind == OperandKind::kNone) return desc;
    desc.present = true;
    desc.dims = {n};
    if (operand.kind == OperandKind::kStep) {
      desc.dtype = program_.steps[operand.index].dtype;
      return desc;
    }
    const TensorDesc& input = request_.inputs[operand.index];
    desc.dtype = input.dtype;
    if (is_single(operand)) desc.dims = {};
    // A block sees other elements than the whole constant, unless the constant is one number.
    if (input.elements() == 1) desc.data = input.data;
    return desc;
  }

  Status add_step(const ChainStep& step) {
    RunnableStep made;
    made.operands = step.operands;
    bool dense = kernel_->blocks_.elements() == 1;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (is_single(step.operands[i])) {
        made.single |= 1U << i;
      } else {
        dense = dense || step.operands[i].kind != OperandKind::kNone;
      }
    }
    if (!dense) return chain_error(ErrorCode::kInternal, "a step has too few elements");
    const Node node = node_of_step(request_.node, step);
    const std::array<std::int64_t, 2> sizes = {kernel_->blocks_.elements(),
                                               kernel_->blocks_.last_elements()};
    for (std::size_t which = 0; which < (sizes[0] == sizes[1] ? 1U : 2U); ++which) {
      PX_RETURN_IF_ERROR(make_part(node, step, sizes[which], which, made));
      if (made.in_registers || made.function) break;
    }
    kernel_->steps_.push_back(std::move(made));
    return {};
  }

  Status make_part(const Node& node, const ChainStep& step, std::int64_t n, std::size_t which,
                   RunnableStep& made) {
    std::vector<TensorDesc> inputs;
    for (const ChainOperand& operand : step.operands) inputs.push_back(describe(operand, n));
    TensorDesc output;
    output.present = true;
    output.dtype = step.dtype;
    output.dims = {n};
    KernelRequest part{
        node, inputs, std::span(&output, 1), request_.packed, request_.precision, request_.machine};
    made.overwrites = true;
    if (options_.in_registers != nullptr) made.in_registers = options_.in_registers(part);
    if (made.in_registers) return {};
    if (options_.function != nullptr) made.function = options_.function(part);
    if (made.function) return {};
    PX_ASSIGN(MadeKernel kernel, make_inferred_kernel(part, options_.reference_only));
    made.overwrites = kernel.row->in_place;
    kernel_->kernel_scratch_ = std::max(kernel_->kernel_scratch_, kernel.kernel->scratch_bytes());
    made.kernels[which] = std::move(kernel.kernel);
    return {};
  }

  std::size_t take_slot() {
    auto& slots = kernel_->slots_;
    const auto found = std::find(slots.begin(), slots.end(), true);
    const auto slot = static_cast<std::size_t>(found - slots.begin());
    if (found == slots.end()) slots.push_back(false);
    slots[slot] = false;
    return slot;
  }

  /// Frees the slots of operands that no step after `s` reads.
  void free_operands(std::size_t s) {
    for (const ChainOperand& operand : program_.steps[s].operands) {
      if (operand.kind != OperandKind::kStep || last_use_[operand.index] != s) continue;
      const std::size_t slot = kernel_->steps_[operand.index].slot;
      if (slot != kNoSlot) kernel_->slots_[slot] = true;
    }
  }

  /// Returns whether step `s` may overwrite any of its operands: each has the result's element
  /// size.
  bool overwrites(std::size_t s) const {
    const ChainStep& step = program_.steps[s];
    const auto fits = [&](const ChainOperand& operand) {
      if (operand.kind == OperandKind::kNone) return true;
      const DType dtype = operand.kind == OperandKind::kStep ? program_.steps[operand.index].dtype
                                                             : request_.inputs[operand.index].dtype;
      return size_of(dtype) == size_of(step.dtype);
    };
    return kernel_->steps_[s].overwrites && std::ranges::all_of(step.operands, fits);
  }

  void allocate() {
    const std::size_t count = program_.steps.size();
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
      const BlockInput kind = kernel_->blocks_.input(i);
      if (kind != BlockInput::kDense && kind != BlockInput::kSingle)
        kernel_->spreads_.push_back({i, take_slot()});
    }
    last_use_.assign(count, 0);
    for (std::size_t s = 0; s < count; ++s)
      for (const ChainOperand& operand : program_.steps[s].operands)
        if (operand.kind == OperandKind::kStep) last_use_[operand.index] = s;
    for (std::size_t o = 0; o < program_.results.size(); ++o) {
      const std::size_t s = program_.results[o];
      if (!request_.outputs[o].present) continue;
      // Output 0 may share the memory of an input that later steps read.
      if (o == 0 && (s + 1 < count || !overwrites(s))) {
        kernel_->late_ = s;
        last_use_[s] = count;
      } else {
        direct_.push_back(s);
        kernel_->steps_[s].output = o;
      }
    }
    for (std::size_t s = 0; s + 1 < count; ++s)
      kernel_->steps_[s].passed_on = last_use_[s] == s + 1 && kernel_->steps_[s + 1].in_registers &&
                                     std::ranges::find(direct_, s) == direct_.end();
    for (std::size_t s = 0; s < count; ++s) {
      const bool over = overwrites(s);
      if (over) free_operands(s);
      if (std::ranges::find(direct_, s) == direct_.end()) kernel_->steps_[s].slot = take_slot();
      if (!over) free_operands(s);
    }
  }

  const KernelRequest& request_;
  const ChainKernelOptions& options_;
  const ChainProgram& program_;
  std::unique_ptr<ChainKernel> kernel_;
  std::vector<std::size_t> last_use_, direct_;
};

Result<std::unique_ptr<Kernel>> make_chain_kernel(const KernelRequest& request,
                                                  const ChainKernelOptions& options) {
  const auto program = read_chain(request.node);
  if (!program) return chain_error(ErrorCode::kInvalidModel, "the chain's program is not valid");
  const TensorDesc& first = request.outputs[0];
  for (const TensorDesc& input : request.inputs)
    if (!input.present || size_of(input.dtype) == 0 || !goes_into(input.dims, first.dims))
      return chain_error(ErrorCode::kInvalidInput, "an input does not go with the outputs");
  for (const TensorDesc& output : request.outputs)
    if (!first.present || (output.present && output.dims != first.dims))
      return chain_error(ErrorCode::kInternal, "outputs have different shapes");
  if (request.outputs[0].elements() == 0) {
    LambdaKernelOptions nothing;
    nothing.tiles = 0;
    return make_lambda_kernel(nothing, [](std::int64_t, const KernelArgs&) { return Status(); });
  }
  return ChainMaker(request, options, *program).make();
}

}  // namespace parallax
