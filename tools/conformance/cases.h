// The cases of one delegate: graphs that its description claims to run whole, each as one region.
// Internal to tools/conformance. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/profile.h"
#include "ir/graph.h"

namespace parallax::conformance {

struct Case {
  std::string name;  ///< "free rows", "odd sizes"
  Graph graph;       ///< inferred; constants filled
  /// Sizes of its symbols, to be bound one after the other; one without sizes if there are none.
  std::vector<Binding> bindings;
};

/// Returns the cases of one operator and `dtype`, the type of its first input or, if it has no
/// input, of its result. Empty if the delegate claims nothing that the operator's row makes.
std::vector<Case> operator_cases(OpKind op, DType dtype, const Delegate& delegate,
                                 std::uint64_t seed);
/// Whole graphs.
std::vector<Case> graph_cases(const Delegate& delegate, std::uint64_t seed);

/// Returns a case of a text; nullopt if it is no graph or not all of it is claimed.
std::optional<Case> case_of(std::string name, const std::string& text, const Delegate& delegate,
                            std::uint64_t seed);
/// `text` as forms.h has it, for a delegate that has some operator of one element in f32.
std::optional<Case> simple_case(const std::string& text, const Delegate& delegate,
                                std::uint64_t seed);

}  // namespace parallax::conformance
