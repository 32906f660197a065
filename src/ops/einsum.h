// Equations of Einsum. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "parallax/result.h"

namespace parallax {

/// One label for each axis of a term. A letter is a label; so is each axis behind an ellipsis,
/// counted from the last, so that terms with fewer broadcast.
using EinsumTerm = std::vector<int>;
inline constexpr int kEinsumLetters = 52;
inline constexpr int kEinsumLabels = kEinsumLetters + Dims::kMaxRank;

struct EinsumEquation {
  std::vector<EinsumTerm> inputs;
  EinsumTerm output;
  /// Labels that are not in the output, each once.
  std::vector<int> summed() const;
};
/// The equation of `node` for inputs of these ranks. Errors: kInvalidModel.
Result<EinsumEquation> einsum_equation(const Node& node, std::span<const int> ranks);

}  // namespace parallax
