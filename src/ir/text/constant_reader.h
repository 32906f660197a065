// Reads the elements of constants in the text form: [1, 2], fill 0.5, texts in quotes.
#pragma once

#include "ir/expr_text_reader.h"
#include "ir/graph.h"

namespace parallax {

class ConstantReader : public ExprTextReader {
 protected:
  Result<DType> dtype();

  /// `[1, 2]` or `fill 0.5`, as many as `shape` asks for.
  Result<Constant> elements(DType element_type, const Shape& shape);
};

}  // namespace parallax
