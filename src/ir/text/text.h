// A graph as text and back: what tests write, what golden files hold, what a person reads when
// debugging.
//
//     symbols batch seq
//     input x f32 [batch, seq, 768]
//     const w f32 [768, 3] = fill 0.5          # or: = [1, 2, 3]
//     h = MatMul(x, w) then Relu               # its epilogue
//     a, b = Split(h) {axis = 1, num_outputs = 2}
//     y = Relu(a)
//     output y, b
//
// One statement a line, `#` starts a comment. A printed graph abbreviates long constants as `...`.
// Node outputs get dtype and shape from inference (ops/infer.h), or carry them:
// `y: f32 [batch, 3] = Relu(a)`. Left-out inputs are `_`. Dtypes have their short names, those of
// parallax/dtypes.def.
//
// Bodies follow their node; captures stand behind a semicolon. `outer_symbols` are those of the
// graph around, `a = b` where the name differs:
//
//     y = If(condition; x)
//     body
//       input x f32 []
//       z = Relu(x)
//       output z
//     end
//     body
//       input x f32 []
//       output x
//     end
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace parallax {

/// Never fails; the text of a graph without abbreviated constants parses back to an equal graph.
std::string print(const Graph& graph);
/// Returns the graph of a text. Errors: kInvalidModel with the line number (a missing `end` has
/// none). Result values without an annotation get dtype f32 and an empty shape, which `infer_graph`
/// of ops/ fills in. Operators and attributes are not checked against their definitions, and
/// verify() is left to the caller.
Result<Graph> parse_graph(std::string_view text);

}  // namespace parallax
