// Writes the replacement of a node: further nodes before it, and the node itself changed
// into the last of them. Thread-safety: not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/onnx/normalize/normalize.h"

namespace parallax {

using NamedAttribute = std::pair<const char*, AttributeValue>;
Attributes attributes_of(std::initializer_list<NamedAttribute> list);
/// The attribute `axis`, and others.
Attributes with_axis(std::int64_t axis, std::initializer_list<NamedAttribute> others = {});

/// After the first failure all functions do nothing; finish() returns it.
class Rewriting {
 public:
  explicit Rewriting(FileNode& file) : file_(file), inputs_(file.node.inputs) {}

  // The node that is rewritten.
  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  /// An input, invalid where it is left out.
  ValueId in(std::size_t i) const { return has(i) ? inputs_[i] : ValueId{}; }
  /// An input that must be there.
  ValueId need(std::size_t i);
  bool reads_output(std::size_t i) const {
    return i < file_.node.outputs.size() && file_.node.outputs[i].valid();
  }
  /// Takes an attribute of the node; finish() refuses those that nothing took.
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

  // Types of values, written ones included. Of a failure: f32, 0.
  DType dtype(ValueId value);
  int rank(ValueId value);
  const Shape& shape(ValueId value);
  /// The dimension where it is a number, else -1.
  std::int64_t dimension(ValueId value, int axis);
  const Constant* constant(ValueId value) const;
  /// Whether the elements of a list are numbers already.
  bool is_known(ValueId list);

  // Writing.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> ops(OpKind kind, std::vector<ValueId> inputs, Attributes attributes,
                           std::size_t outputs);
  /// A scalar of the type of `like`.
  ValueId number(double x, ValueId like);
  /// One of type f32, i64, or a list of i64.
  ValueId float_number(float x);
  ValueId int_number(std::int64_t x);
  ValueId ints(const std::vector<std::int64_t>& elements);
  ValueId constant(Constant value) { return file_.constant("constant", std::move(value)); }

  // Frequent nodes.
  ValueId add(ValueId a, ValueId b) { return op(OpKind::kAdd, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op(OpKind::kSub, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(OpKind::kMul, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op(OpKind::kDiv, {a, b}); }
  ValueId mul(ValueId a, double x) { return mul(a, number(x, a)); }
  ValueId add(ValueId a, double x) { return add(a, number(x, a)); }
  ValueId cast(ValueId x, DType to);
  /// The same value where it has that type already.
  ValueId cast_to(ValueId x, DType to);
  ValueId reshape(ValueId x, const std::vector<std::int64_t>& shape);
  ValueId reshape_like(ValueId x, ValueId like);
  ValueId transpose(ValueId x, std::vector<std::int64_t> perm);
  ValueId unsqueeze(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId squeeze(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis);
  ValueId slice(ValueId x, std::int64_t begin, std::int64_t end, std::int64_t axis);
  ValueId reduce(OpKind kind, ValueId x, const std::vector<std::int64_t>& axes, bool keep = true);
  /// The dimension of `x` as a list of one i64.
  ValueId dim(ValueId x, std::int64_t axis);

  // Results.
  /// Output 0.
  void result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  void result(ValueId value) { result(OpKind::kIdentity, {value}); }
  /// Another output, written only where something reads it.
  void output(std::size_t i, OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  void output(std::size_t i, ValueId value) { output(i, OpKind::kIdentity, {value}); }
  void fail(Error error);
  void refuse(std::string message);   ///< kUnsupported
  void invalid(std::string message);  ///< kInvalidModel
  bool failed() const { return !status_.has_value(); }
  /// Ends the rule, which returns its result. Errors: those of the writing; kUnsupported for
  /// attributes that the rule did not read and outputs that it did not write.
  Status finish();

 private:
  const Value* typed(ValueId value);
  void write(Node node);

  FileNode& file_;
  const std::vector<ValueId> inputs_;
  Status status_;
  OpKind kind_ = OpKind::kIdentity;
  std::vector<ValueId> result_;
  Attributes attributes_;
};

}  // namespace parallax
