// Generators of random expressions for tests.
#pragma once

#include <array>

#include "ir/expr.h"
#include "ir/expr/expr_broadcast.h"

namespace parallax {

using Operation = Expr (*)(const Expr&, const Expr&);
inline const std::array<Operation, 8> kOperations = {
    [](const Expr& a, const Expr& b) { return a + b; },
    [](const Expr& a, const Expr& b) { return a - b; },
    [](const Expr& a, const Expr& b) { return a * b; },
    [](const Expr& a, const Expr& b) { return floor_div(a, b); },
    [](const Expr& a, const Expr& b) { return mod(a, b); },
    [](const Expr& a, const Expr& b) { return min(a, b); },
    [](const Expr& a, const Expr& b) { return max(a, b); },
    [](const Expr& a, const Expr& b) { return broadcast(a, b); }};

}  // namespace parallax
