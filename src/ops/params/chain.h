// Attributes of ElementwiseChain: a program of steps as lists. ops/chain.h reads and writes it.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct ChainParams {
  std::vector<std::string> steps;  ///< the operators
  /// For each step: the element type, the number of operands, and for each of these 0 if it is left
  /// out, i + 1 for input i, -i - 1 for step i.
  std::vector<std::int64_t> program;
  std::vector<std::int64_t> results;    ///< the steps that give outputs
  std::vector<std::string> parameters;  ///< attributes of steps: "2 alpha f 0.5"

  template <class Visitor>
  void visit(Visitor& v) {
    v("steps", steps);
    v("program", program);
    v("results", results);
    v("parameters", parameters);
  }
};

}  // namespace parallax
