#include "kernels/chain_kernel.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/chain_blocks.h"
#include "kernels/chain_spread.h"
#include "kernels/registry.h"
#include "kernels/table_bytes.h"
#include "ops/chain.h"

namespace parallax {
namespace {

using OperandKind = ChainOperand::Kind;
/// No slot: the result lies in an output.
constexpr std::size_t kNoSlot = SIZE_MAX;
constexpr std::int64_t kSlotAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

tl::unexpected<Error> chain_error(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kCompile, code, {}, std::move(message)});
}

/// One element does, whatever its rank: bounds of Clip.
bool goes_into(const Dims& dims, const Dims& to) {
  if (dims.elements() == 1) return true;
  const int missing = to.rank() - dims.rank();
  for (int d = 0; d < dims.rank(); ++d)
    if (missing < 0 || (dims[d] != 1 && dims[d] != to[d + missing])) return false;
  return true;
}

/// A step for blocks of either size.
struct RunnableStep {
  std::optional<RegisterStep> in_registers;  ///< of any size, as the function; else the kernels
  std::optional<ChainFunction> function;
  std::array<std::unique_ptr<Kernel>, 2> kernels;
  std::vector<ChainOperand> operands;
  std::uint32_t single = 0;
  bool overwrites = false;  ///< its result may lie where an operand does
  bool passed_on = false;   ///< in registers, to the next step alone
  std::size_t slot = kNoSlot;
  std::size_t output = 0;  ///< where there is no slot
};

/// Inputs that are copied into a slot for a block.
struct SpreadInput {
  std::size_t input = 0, slot = 0;
};

class ChainKernel final : public Kernel {
 public:
  ChainKernel(ChainBlocks blocks, std::vector<std::int64_t> sizes)
      : blocks_(std::move(blocks)), input_sizes_(std::move(sizes)) {}

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return std::ssize(slots_) * slot_bytes_ + kernel_scratch_;
  }
  std::int64_t table_bytes() const override;
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override;

 private:
  friend class ChainMaker;

  /// Where the operands of a block are.
  struct Places {
    std::array<const std::byte*, kMostChainInputs> inputs{};
    /// What slots have of them, and how many elements.
    std::array<std::pair<const std::byte*, std::int64_t>, kMostChainInputs> spread{};
    std::array<std::byte*, kMostChainSteps> results{};
    /// Steps in registers that wait for the end of their run, and how many.
    std::array<RegisterStep, 2 * kMostChainSteps> waiting;
    std::size_t waits = 0;
  };
  void place_inputs(const ChainBlock& block, const KernelArgs& args, Places& places) const;
  Status run_step(std::size_t s, const ChainBlock& block, const KernelArgs& args,
                  Places& places) const;
  void wait(std::size_t s, std::span<const std::byte* const> operands, std::byte* y,
            Places& places) const;
  void run_waiting(const ChainBlock& block, Places& places) const {
    if (places.waits == 0) return;
    run_registers_(std::span(places.waiting).first(places.waits),
                   static_cast<std::size_t>(block.elements()));
    places.waits = 0;
  }
  std::byte* slot(const KernelArgs& args, std::size_t i) const {
    return args.scratch.data() + static_cast<std::int64_t>(i) * slot_bytes_;
  }

  ChainBlocks blocks_;
  std::vector<std::int64_t> input_sizes_;  ///< of an element
  std::int64_t tiles_ = 0, slot_bytes_ = 0, kernel_scratch_ = 0;
  std::vector<bool> slots_;  ///< while it is made: those that are free
  std::vector<RunnableStep> steps_;
  RunRegisters run_registers_ = nullptr;
  std::vector<SpreadInput> spreads_;
  std::vector<std::int64_t> output_sizes_;
  /// The step whose result is copied to output 0 behind a block: what lies there is read until
  /// then. SIZE_MAX: none.
  std::size_t late_ = SIZE_MAX;
};

std::int64_t ChainKernel::table_bytes() const {
  std::int64_t bytes = bytes_of_table(steps_) + bytes_of_table(spreads_);
  for (const RunnableStep& step : steps_) {
    bytes += bytes_of_table(step.operands);
    for (const auto& kernel : step.kernels)
      if (kernel != nullptr) bytes += kernel->table_bytes();
  }
  return bytes;
}

void ChainKernel::place_inputs(const ChainBlock& block, const KernelArgs& args,
                               Places& places) const {
  for (std::size_t i = 0; i < input_sizes_.size(); ++i)
    places.inputs[i] = args.inputs[i] + blocks_.offset(i, block) * input_sizes_[i];
  for (const SpreadInput& one : spreads_) {
    const std::byte* const from = std::exchange(places.inputs[one.input], slot(args, one.slot));
    auto& [known, elements] = places.spread[one.input];
    if (known == from && elements >= block.elements()) continue;
    known = from;
    elements = block.elements();
    spread(blocks_.input(one.input), from, blocks_.row_stride(one.input), input_sizes_[one.input],
           block, slot(args, one.slot));
  }
}

/// Adds step `s` to the run of steps in registers.
void ChainKernel::wait(std::size_t s, std::span<const std::byte* const> operands, std::byte* y,
                       Places& places) const {
  const RunnableStep& step = steps_[s];
  const auto add = [&](RegisterStep one, std::size_t i, bool right) {
    const bool number = ((step.single >> i) & 1U) != 0;
    one.operand = reinterpret_cast<const float*>(operands[i]);
    one.form = right ? (number ? RegisterForm::kNumberRight : RegisterForm::kRight)
                     : (number ? RegisterForm::kNumberLeft : RegisterForm::kLeft);
    places.waiting[places.waits++] = one;
  };
  const auto held = [&](std::size_t i) {
    return places.waits > 0 && s > 0 && step.operands[i].kind == OperandKind::kStep &&
           step.operands[i].index == s - 1;
  };
  RegisterStep one = *step.in_registers;
  one.store = step.passed_on ? nullptr : reinterpret_cast<float*>(y);
  const bool binary = one.form != RegisterForm::kNone, first = held(0);
  if (binary && !first && held(1)) return add(one, 0, false);
  if (!first) add({}, 0, true);
  if (binary && !(first && held(1))) return add(one, 1, true);
  one.form = RegisterForm::kNone;
  places.waiting[places.waits++] = one;
}

Status ChainKernel::run_step(std::size_t s, const ChainBlock& block, const KernelArgs& args,
                             Places& places) const {
  const RunnableStep& step = steps_[s];
  std::array<const std::byte*, kMostChainOperands> operands{};
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const ChainOperand& operand = step.operands[i];
    if (operand.kind == OperandKind::kInput) operands[i] = places.inputs[operand.index];
    if (operand.kind == OperandKind::kStep) operands[i] = places.results[operand.index];
  }
  std::byte* const y = step.slot != kNoSlot
                           ? slot(args, step.slot)
                           : args.outputs[step.output] + block.begin * output_sizes_[step.output];
  places.results[s] = y;
  const std::span<const std::byte* const> read(operands.data(), step.operands.size());
  if (step.in_registers) {
    wait(s, read, y, places);
    return {};
  }
  run_waiting(block, places);
  const std::int64_t n = block.elements();
  if (step.function) {
    (*step.function)({read, y, static_cast<std::size_t>(n), step.single});
    return {};
  }
  const Kernel& kernel = *step.kernels[n == blocks_.elements() ? 0 : 1];
  KernelArgs inner;
  inner.inputs = read;
  inner.outputs = std::span(&y, 1);
  inner.scratch = args.scratch.subspan(static_cast<std::size_t>(std::ssize(slots_) * slot_bytes_));
  for (std::int64_t tile = 0; tile < kernel.tiles(); ++tile)
    PX_RETURN_IF_ERROR(kernel.run_tile(tile, inner));
  return {};
}

Status ChainKernel::run_tile(std::int64_t tile, const KernelArgs& args) const {
  const auto [begin, end] = tile_range(blocks_.count(), tiles_, tile);
  Places places;
  for (std::int64_t index = begin; index < end; ++index) {
    const ChainBlock block = blocks_.block(index);
    place_inputs(block, args, places);
    for (std::size_t s = 0; s < steps_.size(); ++s)
      PX_RETURN_IF_ERROR(run_step(s, block, args, places));
    run_waiting(block, places);
    if (late_ == SIZE_MAX) continue;
    const std::int64_t size = output_sizes_[0];
    std::copy_n(places.results[late_], block.elements() * size,
                args.outputs[0] + block.begin * size);
  }
  return {};
}

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

  /// An operand in a block of n elements.
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
    // What is known of it all is not known of a block, but where it is one number.
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

  /// Gives back the slots of operands that no step behind `s` reads.
  void free_operands(std::size_t s) {
    for (const ChainOperand& operand : program_.steps[s].operands) {
      if (operand.kind != OperandKind::kStep || last_use_[operand.index] != s) continue;
      const std::size_t slot = kernel_->steps_[operand.index].slot;
      if (slot != kNoSlot) kernel_->slots_[slot] = true;
    }
  }

  /// True where `s` may write over any of its operands: each is as large as the result.
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
      // Output 0 may lie where an input does, which steps read up to the last.
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

}  // namespace

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
