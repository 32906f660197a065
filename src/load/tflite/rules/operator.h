// One operator of a TFLite file while a rule writes the nodes that it becomes. Not thread-safe.
//
// Inputs are real numbers here: a quantized tensor arrives behind a DequantizeLinear, and the
// result of the rule is quantized afterwards (assembler.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "load/operator_writer.h"
#include "load/tflite/tflite_file.h"

namespace parallax {

namespace schema = tflite_schema;
using Ints = std::vector<std::int64_t>;

/// A table without fields: each has its default.
template <class Options>
const Options& default_options() {
  // A table begins with the distance to its vtable, which here states 4 bytes of its own and 4 of
  // the table.
  alignas(4) static constexpr std::uint8_t kBytes[] = {4, 0, 4, 0, 4, 0, 0, 0};
  return *reinterpret_cast<const Options*>(kBytes + 4);
}

/// `value` limited to an interval. REQUIRES: low <= high. Both are converted to the type of
/// `value`.
ValueId clipped(OperatorWriter& o, ValueId value, float low, float high);
/// An activation of `value`. NONE returns `value` itself. Supported: RELU, RELU_N1_TO_1, RELU6,
/// TANH; others fail with kUnsupported.
ValueId activation_of(OperatorWriter& o, ValueId value, schema::ActivationFunctionType function);

/// Lives while one rule runs. Failures are sticky, as in OperatorWriter; in particular a missing
/// input fails with kInvalidModel, and what must be constant but is not with kUnsupported.
class TfliteOperator : public OperatorWriter {
 public:
  /// `inputs`: the values that are read, invalid ids where an input is left out.
  /// `outputs`: the tensors that are written, null for one left out.
  /// `custom`: the options of a custom operator, unchecked. `file`, `outputs` and `custom` point
  /// into the file, which must outlive this.
  TfliteOperator(GraphWriter& writer, const schema::Operator& file, FileOperatorName name,
                 std::vector<ValueId> inputs, std::vector<const schema::Tensor*> outputs,
                 std::span<const std::byte> custom, std::function<Status()> infer)
      : OperatorWriter(writer, std::move(name), std::move(infer), NodeOrigin::kLoader),
        file_(file),
        custom_(custom),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        results_(outputs_.size()) {}

  /// The options; defaults if the file has none.
  template <class Options>
  const Options& options() const {
    const Options* const given = file_.builtin_options_as<Options>();
    return given == nullptr ? default_options<Options>() : *given;
  }
  /// Same for the options of StableHLO's operators, which are in a second union.
  template <class Options>
  const Options& options_2() const {
    const Options* const given = file_.builtin_options_2_as<Options>();
    return given == nullptr ? default_options<Options>() : *given;
  }
  const schema::Operator& file() const { return file_; }
  /// The bytes that only this custom operator understands. They may begin at any address.
  std::span<const std::byte> custom_options() const { return custom_; }

  /// Number of inputs in the file's list, those left out included.
  std::size_t inputs() const { return inputs_.size(); }
  const std::vector<ValueId>& all_inputs() const { return inputs_; }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  /// An input, invalid if it is left out.
  ValueId in(std::size_t i) const { return has(i) ? inputs_[i] : ValueId{}; }
  /// An input that must be there. Fails with kInvalidModel if it is left out.
  ValueId need(std::size_t i);
  /// The integers of an input that must be a constant, by the name of what they are. Fails with
  /// kUnsupported ("`what` must be constants") and returns an empty list if they are computed.
  std::vector<std::int64_t> need_ints(std::size_t i, std::string_view what);
  /// The integers of an input if they are known. Known are constants, and lists whose elements
  /// inference has computed. Fails if the input is missing.
  std::optional<std::vector<std::int64_t>> known_ints(std::size_t i);
  /// An input of integers as i64, as ONNX's lists of sizes, axes and indices are. A known list of
  /// rank 1 becomes a constant; another one passes a Cast.
  ValueId as_i64(std::size_t i);
  /// `axis` of a tensor of rank `rank`, counted from the front. Fails if there is no such axis.
  /// `axis` is in [-rank, rank), else the operator fails with kInvalidModel and the result is 0.
  std::int64_t from_front(std::int64_t axis, int rank);

  std::size_t outputs() const { return outputs_.size(); }
  /// The type that the file states for an output; nullopt for one that Parallax lacks.
  std::optional<DType> output_type(std::size_t i) const {
    return i < outputs_.size() && outputs_[i] != nullptr ? dtype_of(outputs_[i]->type())
                                                         : std::nullopt;
  }
  /// The shape that the file states for an output. Sizes of open dimensions are those that the
  /// converter noted. Empty for an output that is left out.
  std::vector<std::int64_t> output_shape(std::size_t i) const;
  const std::vector<ValueId>& results() const { return results_; }
  /// Sets an output.
  void result(ValueId value) { result(0, value); }
  /// An index beyond the file's outputs is ignored.
  void result(std::size_t i, ValueId value);
  /// Leaves `value` in input `i` for the next run if that input is a variable. `value` is of real
  /// numbers: it is quantized if the variable is.
  void keep(std::size_t i, ValueId value) { kept_.emplace_back(i, value); }
  const std::vector<std::pair<std::size_t, ValueId>>& kept() const { return kept_; }
  /// Sets output 0 to the activation of `value`.
  void activated(ValueId value, schema::ActivationFunctionType function) {
    result(activation_of(*this, value, function));
  }
  ValueId clip(ValueId value, float low, float high) { return clipped(*this, value, low, high); }
  /// Writes a Scan with a body, whose last inputs are the last `captures` of `inputs`. `attributes`
  /// are those of ONNX's Scan. Returns its outputs, as many as the body has.
  std::vector<ValueId> scan(std::vector<ValueId> inputs, Attributes attributes, Graph body,
                            std::size_t captures);
  /// `value` limited from below.
  ValueId at_least(ValueId value, double low) {
    return op(OpKind::kMax, {value, number(low, value)});
  }

 private:
  const schema::Operator& file_;
  const std::span<const std::byte> custom_;
  const std::vector<ValueId> inputs_;
  const std::vector<const schema::Tensor*> outputs_;
  std::vector<ValueId> results_;
  std::vector<std::pair<std::size_t, ValueId>> kept_;  ///< inputs with their next values
};

}  // namespace parallax
