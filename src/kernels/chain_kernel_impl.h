// The kernel that chain_kernel.h makes: chain_kernel.cc runs it, chain_maker.cc makes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/chain_blocks.h"
#include "kernels/chain_kernel.h"
#include "ops/chain.h"

namespace parallax {

/// No slot: the result lies in an output.
inline constexpr std::size_t kNoSlot = SIZE_MAX;

/// A step for blocks of either size.
struct RunnableStep {
  std::optional<RegisterStep> in_registers;  ///< if set, runs the step for blocks of any size
  std::optional<ChainFunction> function;
  std::array<std::unique_ptr<Kernel>, 2> kernels;
  std::vector<ChainOperand> operands;
  std::uint32_t single = 0;
  bool overwrites = false;  ///< its result may lie where an operand does
  bool passed_on = false;   ///< in registers, to the next step alone
  std::size_t slot = kNoSlot;
  std::size_t output = 0;  ///< index of the output that receives the result if slot is kNoSlot
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

  /// Addresses of the operands of one block.
  struct Places {
    std::array<const std::byte*, kMostChainInputs> inputs{};
    /// For each spread input, the source of the elements that its slot holds, and their number: a
    /// block that reads the same elements need not copy them again.
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
  std::vector<std::int64_t> input_sizes_;  ///< bytes of an element of each input
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

}  // namespace parallax
