// Writes the nodes that an operator of a file becomes, for the loaders of all formats.
// Not thread-safe.
//
// Rules of the ONNX loader (Rewriting) and of the TFLite loader (TfliteOperator) derive from
// OperatorWriter, and write what an operator means in canonical operators of the newest operator
// set. Rules check few results: a failure is sticky, so that a rule runs to its end and the caller
// looks at status() once.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/graph_writer.h"
#include "ops/op.h"

namespace parallax {

/// The name is a literal.
using NamedAttribute = std::pair<const char*, AttributeValue>;
/// REQUIRES: names differ.
Attributes attributes_of(std::initializer_list<NamedAttribute> list);
/// The attribute `axis`, and others. Axes may be negative: they then count from the back.
Attributes with_axis(std::int64_t axis, std::initializer_list<NamedAttribute> others = {});

/// An operator of a file, for names and messages.
struct FileOperatorName {
  std::string node;   ///< unique in its graph; the nodes written begin with it
  std::string label;  ///< the operator as the file calls it
};

/// After the first failure all functions do nothing; status() returns it. Values that are written
/// get the node's name, a slash and the operator's, made unique. Ids stay valid; references and
/// pointers to values do not, because writing may move them. Attributes and inputs are not checked
/// here but by check_node() and inference, whose errors become status().
class OperatorWriter {
 public:
  /// `infer`, unless null, gives types to all nodes written so far. `writer`, and all that `infer`
  /// refers to, must outlive this. `infer` is called whenever a type is asked for, so that types in
  /// a body may be absent (null) or late.
  OperatorWriter(GraphWriter& writer, FileOperatorName name, std::function<Status()> infer,
                 NodeOrigin origin = NodeOrigin::kFile)
      : writer_(writer), name_(std::move(name)), infer_(std::move(infer)), origin_(origin) {}

  // Types of values, written ones included. Of a failure: f32, 0.
  /// An invalid id is read as a failure is. These four call `infer` first.
  DType dtype(ValueId value);
  /// Number of dimensions.
  int rank(ValueId value);
  /// Dimensions may be expressions. The reference is valid until the next node is written.
  const Shape& shape(ValueId value);
  /// The dimension if it is a number, else -1. Also -1 for an axis that is out of range; `axis`
  /// counts from the front.
  std::int64_t dimension(ValueId value, int axis);
  /// Returns the constant that a value is; null for a value that is computed or left out. The
  /// pointer is valid until the next value is written.
  const Constant* constant(ValueId value) const;
  /// Whether the elements of a list are numbers already. True for constants, and for lists whose
  /// elements inference has computed.
  bool is_known(ValueId list);

  // Writing.
  /// Writes a node and returns its first output; an invalid id after a failure. Inputs that are
  /// left out are invalid ids; those at the end are dropped.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// Writes a node with that number of outputs. After a failure the list has invalid ids, in that
  /// number.
  std::vector<ValueId> ops(OpKind kind, std::vector<ValueId> inputs, Attributes attributes,
                           std::size_t outputs);
  /// A scalar of the type of `like`. Integers are rounded towards zero. Other types than f64, i64
  /// and i32 come from f32 by a Cast.
  ValueId number(double x, ValueId like);
  /// One of type f32, i64, or a list of i64.
  ValueId float_number(float x);
  ValueId int_number(std::int64_t x);
  ValueId ints(const std::vector<std::int64_t>& elements);
  ValueId constant(Constant value);

  // Frequent nodes.
  ValueId add(ValueId a, ValueId b) { return op(OpKind::kAdd, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op(OpKind::kSub, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(OpKind::kMul, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op(OpKind::kDiv, {a, b}); }
  ValueId mul(ValueId a, double x) { return mul(a, number(x, a)); }
  ValueId add(ValueId a, double x) { return add(a, number(x, a)); }
  /// To another element type, as Cast does.
  ValueId cast(ValueId x, DType to);
  /// Adds a Cast; returns `x` if it has that type already.
  ValueId cast_to(ValueId x, DType to);
  /// As Reshape: 0 copies a dimension, -1 is computed.
  ValueId reshape(ValueId x, const std::vector<std::int64_t>& shape);
  /// `x` in the shape of `like`, which must have as many elements; dimensions of 0 are kept.
  ValueId reshape_like(ValueId x, ValueId like);
  /// Dimension i of the result is dimension perm[i] of `x`.
  ValueId transpose(ValueId x, std::vector<std::int64_t> perm);
  /// Axes of the result that get size 1; they may be negative.
  ValueId unsqueeze(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId squeeze(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis);
  /// Indices `begin` up to `end`, exclusive, along `axis`; numbers beyond the size are cut,
  /// negative ones count from the back.
  ValueId slice(ValueId x, std::int64_t begin, std::int64_t end, std::int64_t axis);
  /// `kind`: a reduction of ONNX, such as kReduceSum. `keep`: whether reduced axes stay, with size
  /// 1.
  ValueId reduce(OpKind kind, ValueId x, const std::vector<std::int64_t>& axes, bool keep = true);
  /// The dimension of `x` as a list of one i64.
  ValueId dim(ValueId x, std::int64_t axis);

  const FileOperatorName& name() const { return name_; }
  /// Keeps the first error; later ones are dropped.
  void fail(Error error);
  /// Fails with kUnsupported; the operator's label goes in front of the message.
  void refuse(std::string_view message);
  /// Fails with kInvalidModel, as the file contradicts itself.
  void invalid(std::string message);
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }

 protected:
  /// Infers types, then returns the value; null after a failure and for an invalid id. Valid until
  /// the next value is written.
  const Value* typed(ValueId value);
  /// Does not write after a failure.
  void write(Node node);
  /// Appends a value that a node given to write() makes.
  ValueId fresh_result(std::string_view name) {
    return writer_.result(writer_.fresh_value_name(name));
  }
  /// Returns a name of a node of `kind`.
  std::string name_of(OpKind kind) const;

 private:
  GraphWriter& writer_;
  const FileOperatorName name_;
  const std::function<Status()> infer_;
  const NodeOrigin origin_;
  Status status_;
};

/// Returns inputs without those that are left out at the end.
std::vector<ValueId> trimmed(std::vector<ValueId> inputs);

}  // namespace parallax
