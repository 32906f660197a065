// How nodes of each operator are made: a row, whose forms are graphs as text (ir/text/text.h) with
// placeholders. Internal to tools/conformance.
//
//     $O  the operator        $T  the element type        $S  a shape, once for each shape class
//     $L, $R, $A  the row's names of a left and a right operand, and its attributes
//     $W(a)  an operator of one element that the delegate has for the type, applied to `a`: views
//            have something before and behind them, because a region ends where a root does
//
// Where a description limits an attribute, the forms are made once more with the limit as its
// value. Without an `output` line the output is y. What a value's elements may be is in its name's
// first letter (values.h). Thread-safety: constants.
#pragma once

#include <optional>
#include <span>

#include "ir/op_kind.h"

namespace parallax::conformance {

struct Form {
  const char* name;  ///< the special case that it shows; "": the plain one
  const char* text;
};

struct OperatorRow {
  OpKind op;
  std::span<const Form> forms = {}, more = {};
  const char* left = "x";
  const char* right = "x2";
  const char* attributes = "";
  /// Why there are no forms: no device ever gets such a node.
  const char* never = nullptr;
};

/// The row that OpTraits::form (ops/traits.h) names; nullopt for operators on objects, which no
/// delegate may claim.
std::optional<OperatorRow> operator_row(OpKind op);

/// Whole graphs, in which several operators meet. A delegate gets those of whose operators it has
/// all; their $T is f32.
std::span<const Form> graph_forms();

}  // namespace parallax::conformance
