// Runs the steps of a chain, block after block.
#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "kernels/chain_kernel_impl.h"
#include "kernels/chain_spread.h"
#include "kernels/table_bytes.h"

namespace parallax {

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
    return places.waits > 0 && s > 0 && step.operands[i].kind == ChainOperand::Kind::kStep &&
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
  std::array<const std::byte*, kMaxChainOperands> operands{};
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const ChainOperand& operand = step.operands[i];
    if (operand.kind == ChainOperand::Kind::kInput) operands[i] = places.inputs[operand.index];
    if (operand.kind == ChainOperand::Kind::kStep) operands[i] = places.results[operand.index];
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

}  // namespace parallax
