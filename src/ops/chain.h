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

/// Bounds of a program: kernels keep tables of such sizes on the stack.
inline constexpr std::size_t kMaxChainSteps = 64, kMaxChainInputs = 32, kMaxChainOperands = 4;

struct ChainOperand {
  enum class Kind : std::uint8_t { kNone, kInput, kStep };
  Kind kind = Kind::kNone;  ///< kNone: left out
  std::size_t index = 0;    ///< index among the node's inputs, or among the steps
};

struct ChainStep {
  OpKind op = OpKind::kIdentity;
  DType dtype = DType::kF32;  ///< type of its result
  Attributes attributes;
  std::vector<ChainOperand> operands;
};

struct ChainProgram {
  std::vector<ChainStep> steps;
  std::vector<std::size_t> results;  ///< for each output of the node the step that gives it
};

/// QuantizeLinear and DequantizeLinear: steps where scale and zero point are one number each.
bool quantises(OpKind op);
/// Whether a node with this operator and these attributes may be a step.
bool can_be_chain_step(OpKind op, const Attributes& attributes);

/// REQUIRES: the program is within the bounds, and its steps can be steps.
Attributes write_chain(const ChainProgram& program);
/// The program of `node`; nothing where its attributes are none, or do not go with its inputs and
/// outputs. Steps read earlier steps only, and no two outputs are the same.
std::optional<ChainProgram> read_chain(const Node& node);

/// A step as a node of its own. Its inputs and outputs are no values of any graph: valid exactly
/// where the step has an operand.
Node node_of_step(const Node& chain, const ChainStep& step);

/// "[Mul Add Tanh]" of a chain.
std::string chain_text(const Node& node);

}  // namespace parallax
