// Attributes of ElementwiseChain: a program of steps as lists, because attributes hold no structs.
// ops/chain.h reads and writes it, and checks it; other code uses ChainProgram. The operator is
// internal: lower/patterns/fuse_chain.cc makes it.
//
// Tanh(Mul(input 0, input 1) + input 0), all f32, f32 being number 0 of parallax/dtypes.def:
//     steps = ["Mul", "Add", "Tanh"], results = [2]
//     program = [0, 2, 1, 2,   0, 2, -1, 1,   0, 1, -2]
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// The program of a chain. At most kMaxChainSteps steps, kMaxChainInputs inputs of the node and
/// kMaxChainOperands operands of a step.
struct ChainParams {
  /// The operators in the order of computation, by the names of ir/op_kinds.def.
  std::vector<std::string> steps;
  /// For each step: the element type as a DType's number, the number of operands, and for each of
  /// these 0 if it is left out, i + 1 for input i, -i - 1 for step i. A step reads earlier ones
  /// only.
  std::vector<std::int64_t> program;
  /// The steps that give the node's outputs, in the order of these; no step twice.
  std::vector<std::int64_t> results;
  /// Attributes of steps, "2 alpha f 0.5": index of the step, name, type (i: integer, f: float, s:
  /// string) and value, which a string may fill with spaces to the end. Absent if no step has any.
  std::vector<std::string> parameters;

  template <class Visitor>
  void visit(Visitor& v) {
    v("steps", steps);
    v("program", program);
    v("results", results);
    v("parameters", parameters);
  }
};

}  // namespace parallax
