// The kernel that chain_kernel.h makes: chain_kernel.cc runs it, chain_maker.cc makes it. Only
// these two files include it.
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

/// Value of RunnableStep::slot if the result goes straight to an output.
inline constexpr std::size_t kNoSlot = SIZE_MAX;

/// A step, able to run blocks of both sizes. One of in_registers, function and kernels is set.
struct RunnableStep {
  /// If set, runs the step for blocks of any size. Its `operand` and `store` are set for each
  /// block.
  std::optional<RegisterStep> in_registers;
  /// If set, runs it for blocks of any size. Asked for only if the step does not run in registers.
  std::optional<ChainFunction> function;
  /// For blocks.elements() and last_elements(). The second is null if all blocks have the same
  /// size.
  std::array<std::unique_ptr<Kernel>, 2> kernels;
  /// Inputs of the chain or earlier steps. Steps refer to earlier ones only.
  std::vector<ChainOperand> operands;
  std::uint32_t single = 0;  ///< bit i: operand i is one element
  bool overwrites = false;   ///< the result may have the address of an operand
  bool passed_on = false;    ///< only the next step reads the result, in registers
  /// Slot of the scratch that receives the result. Slots are shared by steps whose results are not
  /// needed at the same time.
  std::size_t slot = kNoSlot;
  std::size_t output = 0;  ///< index of the output that receives the result if slot is kNoSlot
};

/// An input that is copied into a slot, broadcast to the block's elements (chain_spread.h). `input`
/// is its index in the node, `slot` that of the scratch; spread inputs keep their slots for the
/// whole tile.
struct SpreadInput {
  std::size_t input = 0, slot = 0;
};

/// Immutable once ChainMaker has filled it; run_tile() is thread-safe. Scratch of a tile: slots of
/// slot_bytes_ each, then scratch of the steps' kernels. A tile runs its blocks in ascending order,
/// all steps of one before the next, on one thread.
class ChainKernel final : public Kernel {
 public:
  /// `sizes` are bytes of an element of each input. The object runs correctly only after ChainMaker
  /// has added steps and slots.
  ChainKernel(ChainBlocks blocks, std::vector<std::int64_t> sizes)
      : blocks_(std::move(blocks)), input_sizes_(std::move(sizes)) {}

  std::int64_t tiles() const override { return tiles_; }
  /// Bytes of all slots, each padded to 64, plus those of the step whose kernel needs most.
  std::int64_t scratch_bytes() const override {
    return std::ssize(slots_) * slot_bytes_ + kernel_scratch_;
  }
  /// Includes the tables of the steps' kernels.
  std::int64_t table_bytes() const override;
  /// Errors: those of the steps' kernels; later steps and blocks of the tile do not run then.
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override;

 private:
  friend class ChainMaker;

  /// Addresses of the operands of one block. One object serves the blocks of a tile in turn.
  struct Places {
    /// First element that the block reads of each input, in the input's own memory or in a slot.
    std::array<const std::byte*, kMaxChainInputs> inputs{};
    /// For each spread input, the source of the elements that its slot holds, and their number: a
    /// block that reads the same elements need not copy them again.
    std::array<std::pair<const std::byte*, std::int64_t>, kMaxChainInputs> spread{};
    /// Address of the result of each step that has run.
    std::array<std::byte*, kMaxChainSteps> results{};
    /// Consecutive steps in registers that are yet to be executed, and their number. A step adds up
    /// to two: a load and itself.
    std::array<RegisterStep, 2 * kMaxChainSteps> waiting;
    std::size_t waits = 0;
  };
  /// Sets the inputs' addresses and fills the slots of spread inputs. A slot that already holds the
  /// same elements, at least as many, is not filled again.
  void place_inputs(const ChainBlock& block, const KernelArgs& args, Places& places) const;
  /// Runs step `s`, or queues it if it runs in registers. Errors: its kernel's.
  Status run_step(std::size_t s, const ChainBlock& block, const KernelArgs& args,
                  Places& places) const;
  /// Queues step `s`, which runs in registers. `operands` are the addresses of its inputs; `y`
  /// receives the result unless it is passed on.
  void wait(std::size_t s, std::span<const std::byte* const> operands, std::byte* y,
            Places& places) const;
  /// Executes the queued steps in one pass over the block.
  void run_waiting(const ChainBlock& block, Places& places) const {
    if (places.waits == 0) return;
    run_registers_(std::span(places.waiting).first(places.waits),
                   static_cast<std::size_t>(block.elements()));
    places.waits = 0;
  }
  /// Returns the address of slot `i`, 64-byte aligned as the scratch is.
  std::byte* slot(const KernelArgs& args, std::size_t i) const {
    return args.scratch.data() + static_cast<std::int64_t>(i) * slot_bytes_;
  }

  ChainBlocks blocks_;
  std::vector<std::int64_t> input_sizes_;  ///< bytes of an element of each input
  /// Number of tiles; bytes of a slot, a multiple of 64 with room for the widest element; scratch
  /// of the steps' kernels in bytes.
  std::int64_t tiles_ = 0, slot_bytes_ = 0, kernel_scratch_ = 0;
  std::vector<bool> slots_;  ///< one per slot; true while ChainMaker may assign it to a step
  std::vector<RunnableStep> steps_;  ///< in the order of execution
  /// Executes steps in registers; null if no step has `in_registers`.
  RunRegisters run_registers_ = nullptr;
  /// Inputs that are neither dense nor single in a block.
  std::vector<SpreadInput> spreads_;
  std::vector<std::int64_t> output_sizes_;  ///< bytes of an element of each output
  /// The step whose result is copied to output 0 at the end of a block, because output 0 may share
  /// the memory of an input that later steps read. SIZE_MAX: there is no such step.
  std::size_t late_ = SIZE_MAX;
};

}  // namespace parallax
