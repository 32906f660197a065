// For tests of ElementwiseChain: makes one of random steps.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ops/chain.h"
#include "session/node_maker_test_util.h"

namespace parallax::node_makers {

/// Makes a chain of random steps. Only what both kinds of kernels compute to the bit is compared,
/// cast or divided by: others may lie on two sides of a bound.
class ChainOfSteps {
 public:
  explicit ChainOfSteps(Maker& m) : m_(m) {}

  void make() {
    const Ints dims = m_.dims(static_cast<std::size_t>(m_.below(4)));
    read(m_.input(dims), DType::kF32, true);
    for (std::int64_t i = m_.below(3); i > 0; --i)
      read(m_.weights(m_.broadcast(dims)), DType::kF32, false);
    if (m_.chance(50)) read(m_.input(m_.broadcast(dims), DType::kBool), DType::kBool, false);
    for (std::int64_t i = m_.below(8); i >= 0; --i) add_step();
    // The last is a result, and tests read f32.
    add(OpKind::kAdd, DType::kF32, {any(DType::kF32, false, true), any(DType::kF32, false)}, false);
    program_.results.push_back(program_.steps.size() - 1);
    for (std::size_t s = 0; s + 1 < program_.steps.size(); ++s)
      if (program_.steps[s].dtype == DType::kF32 && m_.chance(20)) program_.results.push_back(s);
    m_.attributes = write_chain(program_);
    m_.node(OpKind::kElementwiseChain, inputs_, static_cast<int>(program_.results.size()));
  }

 private:
  struct Known {
    ChainOperand operand;
    DType dtype;
    bool exact, whole;  ///< whole: of the chain's shape
  };

  void read(ValueId value, DType dtype, bool whole) {
    known_.push_back({{ChainOperand::Kind::kInput, inputs_.size()}, dtype, true, whole});
    inputs_.push_back(value);
  }

  void add(OpKind op, DType dtype, const std::vector<std::optional<Known>>& operands, bool exact,
           Attributes attributes = {}) {
    ChainStep step{op, dtype, std::move(attributes), {}};
    for (const auto& operand : operands) {
      if (!operand) return;
      step.operands.push_back(operand->operand);
      exact = exact && operand->exact;
    }
    known_.push_back({{ChainOperand::Kind::kStep, program_.steps.size()}, dtype, exact, true});
    program_.steps.push_back(std::move(step));
  }

  std::optional<Known> any(DType dtype, bool exact, bool whole = false) {
    std::vector<Known> fitting;
    for (const Known& one : known_)
      if (one.dtype == dtype && (one.exact || !exact) && (one.whole || !whole))
        fitting.push_back(one);
    if (fitting.empty()) return std::nullopt;
    return fitting[static_cast<std::size_t>(m_.below(std::ssize(fitting)))];
  }

  static Attributes to(DType dtype) {
    Attributes attributes;
    attributes.set("to", std::int64_t{info_of(dtype).onnx});
    return attributes;
  }

  void add_step() {
    constexpr DType kF32 = DType::kF32, kBool = DType::kBool;
    const DType whole_number = m_.one_of({DType::kI64, DType::kI32, DType::kU8, DType::kI8});
    switch (m_.below(9)) {
      case 0:
        return add(m_.one_of({OpKind::kAbs, OpKind::kNeg, OpKind::kRelu}), kF32,
                   {any(kF32, false, true)}, true);
      case 1:
        return add(m_.one_of({OpKind::kTanh, OpKind::kSigmoid, OpKind::kExp, OpKind::kSilu}), kF32,
                   {any(kF32, false, true)}, false);
      case 2:
        return add(
            m_.one_of({OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMin, OpKind::kMax}), kF32,
            {any(kF32, false), any(kF32, false, true)}, true);
      case 3:
        return add(m_.one_of({OpKind::kDiv, OpKind::kMul}), kF32,
                   {any(kF32, true, true), any(kF32, true)}, true);
      case 4:
        return add(m_.one_of({OpKind::kLess, OpKind::kGreaterOrEqual, OpKind::kEqual}), kBool,
                   {any(kF32, true, true), any(kF32, true)}, true);
      case 5:
        return add(OpKind::kWhere, kF32,
                   {any(kBool, true), any(kF32, false, true), any(kF32, false)}, true);
      case 6:
        return add(OpKind::kCast, whole_number, {any(kF32, true, true)}, true, to(whole_number));
      case 7:
        return add(OpKind::kMul, whole_number,
                   {any(whole_number, true, true), any(whole_number, true)}, true);
      default:
        return add(OpKind::kCast, kF32, {any(whole_number, true, true)}, true, to(kF32));
    }
  }

  Maker& m_;
  std::vector<ValueId> inputs_;
  std::vector<Known> known_;
  ChainProgram program_;
};

inline void make_chain(Maker& m) { ChainOfSteps(m).make(); }

}  // namespace parallax::node_makers
