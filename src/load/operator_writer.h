// Writes the nodes that an operator of a file becomes, for the loaders of all formats.
// Not thread-safe.
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

using NamedAttribute = std::pair<const char*, AttributeValue>;
Attributes attributes_of(std::initializer_list<NamedAttribute> list);
/// The attribute `axis`, and others.
Attributes with_axis(std::int64_t axis, std::initializer_list<NamedAttribute> others = {});

/// An operator of a file, for names and messages.
struct FileOperatorName {
  std::string node;   ///< unique in its graph; the nodes written begin with it
  std::string label;  ///< the operator as the file calls it
};

/// After the first failure all functions do nothing; status() returns it.
class OperatorWriter {
 public:
  /// `infer`, unless null, gives types to all nodes written so far.
  OperatorWriter(GraphWriter& writer, FileOperatorName name, std::function<Status()> infer,
                 NodeOrigin origin = NodeOrigin::kFile)
      : writer_(writer), name_(std::move(name)), infer_(std::move(infer)), origin_(origin) {}

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
  ValueId constant(Constant value);

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

  const FileOperatorName& name() const { return name_; }
  void fail(Error error);
  void refuse(std::string_view message);  ///< kUnsupported
  void invalid(std::string message);      ///< kInvalidModel
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }

 protected:
  const Value* typed(ValueId value);
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
