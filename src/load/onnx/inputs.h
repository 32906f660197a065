// Inputs of a file's graph as values: element types, dimensions and their symbols.
// Thread-safety: not thread-safe; one per graph.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "ir/graph.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// Named dimensions become symbols, the same name the same symbol; nameless ones (no name, a
/// negative number, or a name like "?") become symbols called after the input, "x_dim_0". Equal
/// names mean equal sizes at run time, within the inputs of one graph. A name without a letter,
/// digit or byte above 0x7F counts as none.
class InputReader {
 public:
  /// `inputs`: all that will be read, so that made-up names avoid theirs.
  InputReader(Graph& graph, std::span<const OnnxValueInfo> inputs);

  /// Errors: kInvalidModel for an input without type or whose size overflows; kUnsupported for
  /// inputs that are no tensors, have no known rank, or an element type that is not supported. A
  /// size overflows if it exceeds 63 bits with unknown dimensions as 1. Inputs that are containers
  /// get a Container type; their dimensions make no symbols. The caller appends the value to the
  /// graph.
  Result<Value> read(const OnnxValueInfo& input);

 private:
  static Result<Value> read_container(const OnnxValueInfo& input);
  Expr dimension(const OnnxValueInfo& input, std::size_t axis);
  SymbolId symbol(const std::string& name);

  Graph& graph_;
  std::map<std::string, SymbolId> symbols_;
  std::set<std::string> taken_;
};

/// Checks what the file says of an input against the constant that gives it. Errors: kInvalidModel.
/// kInvalidModel if element type, rank or a known dimension differs. Unknown dimensions fit any
/// size.
Status check_default(const OnnxValueInfo& input, const Value& constant);

}  // namespace parallax
