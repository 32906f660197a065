// The dimension that two dimensions broadcast to, as an expression. Pure functions.
#pragma once

#include "ir/expr.h"

namespace parallax {

/// The one that is not 1 where the other is; either if both are equal. Has no value where
/// neither holds: that is max(a, b), but not where one of them is 0, and not for 2 and 3. Operands
/// may come in any order and grouping: equal sets of them give equal expressions. A constant other
/// than 1 is the result, whatever the other dimension turns out to be: where both have a value it
/// is the only one possible.
Expr broadcast(const Expr& a, const Expr& b);

}  // namespace parallax
