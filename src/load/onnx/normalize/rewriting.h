// Writes the replacement of a node: further nodes before it, and the node itself changed
// into the last of them. Thread-safety: not thread-safe.
//
// A rule reads inputs and attributes, writes nodes, states output 0 by result() and further outputs
// by output(), and returns finish().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/onnx/normalize/normalize.h"
#include "load/operator_writer.h"

namespace parallax {

/// After the first failure all functions do nothing; finish() returns it.
class Rewriting : public OperatorWriter {
 public:
  /// `file` must outlive this.
  explicit Rewriting(FileNode& file)
      : OperatorWriter(file.writer, {file.node.name, std::string(file.label())}, file.infer),
        file_(file),
        inputs_(file.node.inputs) {}

  // The node that is rewritten.
  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  /// An input, invalid if it is left out.
  ValueId in(std::size_t i) const { return has(i) ? inputs_[i] : ValueId{}; }
  /// An input that must be there. Fails with kInvalidModel if it is left out.
  ValueId need(std::size_t i);
  /// Whether something in the graph reads it; true for a first output that the file names, read or
  /// not.
  bool reads_output(std::size_t i) const {
    return i < file_.node.outputs.size() && file_.node.outputs[i].valid();
  }
  /// Takes an attribute of the node; finish() refuses those that nothing took. `fallback`: ONNX's
  /// default, returned if the attribute is absent and after a failure. Fails with kInvalidModel for
  /// another type.
  template <class T>
  T take(std::string_view name, T fallback) {
    auto value = file_.take<T>(name);
    if (value) return value->value_or(std::move(fallback));
    fail(std::move(value).error());
    return fallback;
  }
  std::int64_t take_int(std::string_view name, std::int64_t fallback) {
    return take<std::int64_t>(name, fallback);
  }
  float take_float(std::string_view name, float fallback) { return take<float>(name, fallback); }
  std::string take_string(std::string_view name, std::string fallback) {
    return take<std::string>(name, std::move(fallback));
  }
  /// All that are left, for a node that has the same ones.
  Attributes take_all() { return std::exchange(file_.node.attributes, {}); }
  std::int64_t opset() const { return file_.opset; }
  FileNode& file() { return file_; }

  // Results.
  /// Output 0.
  void result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  void result(ValueId value) { result(OpKind::kIdentity, {value}); }
  /// Another output, written only where something reads it.
  void output(std::size_t i, OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  void output(std::size_t i, ValueId value) { output(i, OpKind::kIdentity, {value}); }
  /// Ends the rule, which returns its result. Errors: those of the writing; kUnsupported for
  /// attributes that the rule did not read and outputs that it did not write. Changes the node to
  /// what result() stated: operator, inputs and attributes; one output stays.
  Status finish();

 private:
  FileNode& file_;
  const std::vector<ValueId> inputs_;
  OpKind kind_ = OpKind::kIdentity;
  std::vector<ValueId> result_;
  Attributes attributes_;
};

}  // namespace parallax
