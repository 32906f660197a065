// Reads the elements of constants in the text form: [1, 2], fill 0.5, texts in quotes.
#pragma once

#include "ir/expr_text_reader.h"
#include "ir/graph.h"

namespace parallax {

/// Reads from the line that TokenReader holds. Errors: kInvalidModel.
class ConstantReader : public ExprTextReader {
 protected:
  /// Reads a dtype by its short name, "f32".
  Result<DType> dtype();

  /// Reads `[1, 2]` or `fill 0.5`, as many as `shape` asks for, at most 2^24; strings as ["a",
  /// "b"]. Integers must fit the type; floats are rounded once. Refuses shapes with symbols, and
  /// `...`, the mark of abbreviated elements.
  Result<Constant> elements(DType element_type, const Shape& shape);
};

}  // namespace parallax
