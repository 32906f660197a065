// Equations of Einsum (ops/params/einsum.h has their grammar), parsed and checked for inference,
// kernels and the pass that expands them. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "parallax/result.h"

namespace parallax {

/// One label for each axis of a term: the letters A..Z, a..z are 0 to 51. Each axis behind an
/// ellipsis has a label as well, from kEinsumLetters on, counted from the last, so that terms with
/// fewer broadcast.
using EinsumTerm = std::vector<int>;
/// The numbers of letters and of all labels; tables indexed by label have this size.
inline constexpr int kEinsumLetters = 52;
inline constexpr int kEinsumLabels = kEinsumLetters + Dims::kMaxRank;

/// An equation for inputs of certain ranks. "ij,jk->ik" has inputs {26+8, 26+9}, {26+9, 26+10} and
/// the output {26+8, 26+10}.
struct EinsumEquation {
  /// A term for each input. A label twice in one term reads the diagonal of these axes.
  std::vector<EinsumTerm> inputs;
  /// Each label once, and each one of some input's; at most Dims::kMaxRank.
  EinsumTerm output;
  /// Returns the labels that are not in the output, each once.
  std::vector<int> summed() const;
};
/// Returns the equation of `node` for inputs of these ranks. Errors: kInvalidModel for a character
/// that is not allowed, two ellipses in a term, terms that do not fit the number of inputs or their
/// ranks, more axes than Dims::kMaxRank, and output labels that are repeated or new.
Result<EinsumEquation> einsum_equation(const Node& node, std::span<const int> ranks);

}  // namespace parallax
