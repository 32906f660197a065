// The program of an ElementwiseChain: elementwise operators, each on inputs of the node and on
// results of earlier ones, all with the shape of the node's outputs. The node carries it as
// attributes; passes write them, kernels read them. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"

namespace parallax {

/// Bounds of a program: kernels keep tables of such sizes on the stack. read_chain() refuses
/// programs beyond them; the pass that makes chains stops there.
inline constexpr std::size_t kMaxChainSteps = 64, kMaxChainInputs = 32, kMaxChainOperands = 4;

/// One operand of a step: an input of the node, the result of an earlier step, or left out (an
/// optional input of the operator, such as a bound of Clip).
struct ChainOperand {
  enum class Kind : std::uint8_t { kNone, kInput, kStep };
  Kind kind = Kind::kNone;  ///< kNone: left out
  std::size_t index = 0;    ///< index among the node's inputs, or among the steps
};

/// One operator of a chain. Attributes are integers, floats and strings: can_be_chain_step().
struct ChainStep {
  OpKind op = OpKind::kIdentity;
  /// The type of its result, which inference compares with what the operator gives.
  DType dtype = DType::kF32;
  Attributes attributes;
  std::vector<ChainOperand> operands;
};

/// The whole program, in the order of computation. Its results have one shape; inputs broadcast to
/// it as those of each operator do.
struct ChainProgram {
  std::vector<ChainStep> steps;
  /// For each output of the node the step that gives it; no step twice.
  std::vector<std::size_t> results;
};

/// Returns whether `op` is QuantizeLinear or DequantizeLinear: steps where scale and zero point are
/// one number each.
bool quantises(OpKind op);
/// Returns whether a node with this operator and these attributes may be a step: elementwise or
/// quantises(), no result that depends on places (random numbers, blocks of scales), no shape
/// input, and no attribute that is a list or a tensor. Shapes and types are not looked at.
bool can_be_chain_step(OpKind op, const Attributes& attributes);

/// Returns the attributes of a chain, as ops/params/chain.h describes them. REQUIRES: the program
/// is within the bounds, and its steps can be steps.
Attributes write_chain(const ChainProgram& program);
/// Returns the program of `node`; nullopt if it has no valid one, or one that does not go with its
/// inputs and outputs. Steps read earlier steps only, and no two outputs are the same. Parses the
/// attributes at each call: kernels do so once, when they are made.
std::optional<ChainProgram> read_chain(const Node& node);

/// Returns a step as a node of its own, with the name of the chain. Its inputs and outputs are no
/// values of any graph: valid exactly if the step has an operand. For check_node(), inference and
/// the makers of kernels.
Node node_of_step(const Node& chain, const ChainStep& step);

/// Returns "[Mul Add Tanh]" for a chain: its operators in order.
std::string chain_text(const Node& node);

}  // namespace parallax
