#include "kernels/chain_kernel.h"

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"
#include "ops/chain.h"

namespace parallax {
namespace {

using Kind = ChainOperand::Kind;

ChainOperand in(std::size_t i) { return {Kind::kInput, i}; }
ChainOperand of(std::size_t step) { return {Kind::kStep, step}; }

ChainStep step(OpKind op, std::vector<ChainOperand> operands, DType dtype = DType::kF32,
               Attributes attributes = {}) {
  return {op, dtype, std::move(attributes), std::move(operands)};
}

KernelRun chain_run(std::vector<ChainStep> steps, std::vector<std::size_t> results,
                    std::vector<std::optional<Tensor>> inputs) {
  const int outputs = static_cast<int>(results.size());
  return {OpKind::kElementwiseChain, std::move(inputs),
          write_chain({std::move(steps), std::move(results)}), outputs};
}

/// Returns the results of the operators one by one, computed by the kernels that run them.
std::vector<Tensor> one_by_one(const KernelRun& run) {
  Node node{"n", run.op, run.attributes, {}, {}};
  node.inputs.resize(run.inputs.size(), ValueId{0});
  node.outputs.resize(static_cast<std::size_t>(run.outputs), ValueId{0});
  const auto program = read_chain(node);
  std::vector<Tensor> made;
  for (const ChainStep& one : program->steps) {
    KernelRun part{one.op, {}, one.attributes};
    for (const ChainOperand& operand : one.operands) {
      if (operand.kind == Kind::kNone) {
        part.inputs.emplace_back();
        continue;
      }
      if (operand.kind == Kind::kInput && ((run.constants >> operand.index) & 1U) != 0)
        part.constants |= 1U << part.inputs.size();
      const Tensor& from =
          operand.kind == Kind::kInput ? *run.inputs[operand.index] : made[operand.index];
      Tensor copy = *Tensor::allocate(from.dtype(), from.dims());
      std::ranges::copy(from.view().bytes, copy.mutable_view().bytes.begin());
      part.inputs.emplace_back(std::move(copy));
    }
    auto outputs = run_kernel(part, KernelLibrary::kCpu);
    if (!outputs) outputs = run_kernel(part, KernelLibrary::kReference);
    made.push_back(std::move(outputs->at(0)));
  }
  std::vector<Tensor> results;
  for (const std::size_t s : program->results) results.push_back(std::move(made[s]));
  return results;
}

void expect_bits_of_operators(const KernelRun& run) {
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(got) << got.error().to_string();
  const auto want = one_by_one(run);
  for (std::size_t i = 0; i < want.size(); ++i) expect_close((*got)[i], want[i], {});
}

TEST(ElementwiseChainKernel, HasTheBitsOfItsOperators) {
  const std::vector<std::pair<Dims, Dims>> shapes = {{{}, {}},
                                                     {{5}, {}},
                                                     {{3, 7}, {7}},
                                                     {{3, 7}, {3, 1}},
                                                     {{2, 3, 4}, {2, 1, 4}},
                                                     {{2, 0, 4}, {4}},
                                                     {{301, 1000}, {301, 1}},
                                                     {{70, 33}, {33}},
                                                     {{70001}, {70001}},
                                                     {{8, 16, 4}, {16, 1}}};
  for (const auto& [x, y] : shapes) {
    SCOPED_TRACE(x.to_string() + " " + y.to_string());
    // Outputs that are read again, and one that lies in the middle.
    expect_bits_of_operators(
        chain_run({step(OpKind::kMul, {in(0), in(1)}), step(OpKind::kTanh, {of(0)}),
                   step(OpKind::kSub, {in(0), of(1)}), step(OpKind::kMax, {of(0), of(2)}),
                   step(OpKind::kAdd, {of(3), in(1)})},
                  {4, 1, 2}, test_inputs(random_floats(x, 1), random_floats(y, 2))));
  }
}

TEST(ElementwiseChainKernel, TakesAllTypes) {
  Attributes to_int, to_byte, to_float;
  to_int.set("to", std::int64_t{info_of(DType::kI64).onnx});
  to_byte.set("to", std::int64_t{info_of(DType::kU8).onnx});
  to_float.set("to", std::int64_t{info_of(DType::kF32).onnx});
  std::vector<float> values = special_floats();
  const auto n = static_cast<std::int64_t>(values.size());
  for (const Dims& other : {Dims{n}, Dims{}, Dims{4, 1}}) {
    SCOPED_TRACE(other.to_string());
    expect_bits_of_operators(chain_run(
        {step(OpKind::kAdd, {in(0), in(1)}), step(OpKind::kGreater, {of(0), in(0)}, DType::kBool),
         step(OpKind::kCast, {of(0)}, DType::kI64, to_int),
         step(OpKind::kMul, {of(2), of(2)}, DType::kI64),
         step(OpKind::kCast, {of(3)}, DType::kU8, to_byte),
         step(OpKind::kCast, {of(4)}, DType::kF32, to_float),
         step(OpKind::kWhere, {of(1), of(5), in(1)})},
        {6, 3, 1}, test_inputs(test_tensor<float>({n}, values), random_floats(other, 2))));
  }
}

TEST(ElementwiseChainKernel, WidensIntegers) {
  const auto widened = [](Tensor x) {
    Attributes to_float;
    to_float.set("to", std::int64_t{info_of(DType::kF32).onnx});
    expect_bits_of_operators(chain_run(
        {step(OpKind::kCast, {in(0)}, DType::kF32, to_float), step(OpKind::kNeg, {of(0)})}, {1, 0},
        test_inputs(std::move(x))));
  };
  widened(random_integers<std::uint8_t>({3001}, 1, 0, 255));
  widened(random_integers<std::int8_t>({77}, 2, -128, 127));
  widened(random_integers<bool>({77}, 2, 0, 1));
  widened(random_integers<std::int32_t>({77}, 3, std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::int32_t>::max()));
}

TEST(ElementwiseChainKernel, ComparesAndChooses) {
  std::vector<float> values = special_floats();
  for (int i = 0; i < 90; ++i) values.push_back(static_cast<float>(i % 7) - 3);
  const auto n = static_cast<std::int64_t>(values.size());
  for (const Dims& other : {Dims{n}, Dims{1}, Dims{3, 1}}) {
    SCOPED_TRACE(other.to_string());
    for (const OpKind op : {OpKind::kEqual, OpKind::kLess, OpKind::kLessOrEqual, OpKind::kGreater,
                            OpKind::kGreaterOrEqual}) {
      expect_bits_of_operators(chain_run(
          {step(op, {in(0), in(1)}, DType::kBool), step(OpKind::kNot, {of(0)}, DType::kBool),
           step(OpKind::kOr, {of(1), in(2)}, DType::kBool),
           step(OpKind::kAnd, {in(2), of(0)}, DType::kBool),
           step(OpKind::kWhere, {of(2), in(0), in(1)}),
           step(OpKind::kWhere, {of(3), in(1), of(4)})},
          {5, 0, 1, 2, 3},
          test_inputs(test_tensor<float>({n}, values), random_integers<float>(other, 1, -3, 3),
                      random_integers<bool>(other, 2, 0, 1))));
    }
  }
}

TEST(ElementwiseChainKernel, KeepsTheOrderOfOperandsInRegisters) {
  const std::vector<float> values = special_floats();
  const auto n = static_cast<std::int64_t>(values.size());
  for (const OpKind op :
       {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin, OpKind::kMax}) {
    for (const Dims& other : {Dims{n, n}, Dims{}, Dims{n}}) {
      SCOPED_TRACE(std::string(to_string(op)) + " " + other.to_string());
      expect_bits_of_operators(chain_run(
          {step(OpKind::kAbs, {in(0)}), step(op, {of(0), in(1)}), step(op, {in(1), of(1)}),
           step(op, {of(2), of(2)}), step(op, {in(0), in(1)}), step(op, {of(4), of(3)}),
           step(OpKind::kRelu, {of(5)}), step(OpKind::kSqrt, {of(6)})},
          {7, 3}, test_inputs(random_floats({n, n}, 1), random_floats(other, 2))));
    }
  }
}

TEST(ElementwiseChainKernel, KnowsNumbersThatAreConstants) {
  KernelRun run =
      chain_run({step(OpKind::kPow, {in(0), in(1)}), step(OpKind::kClip, {of(0), {}, in(2)}),
                 step(OpKind::kDiv, {in(1), of(1)})},
                {2},
                test_inputs(random_floats({3000}, 1), test_tensor<float>({1}, {2}),
                            test_tensor<float>({}, {1.5F})));
  expect_bits_of_operators(run);
  run.constants = 0b110;
  expect_bits_of_operators(run);
}

TEST(ElementwiseChainKernel, DividesByNumbersThatAreConstants) {
  constexpr std::int64_t kExact = std::int64_t{1} << 51;
  std::vector<std::int64_t> small, large;
  for (std::int64_t i = 0; i < 3000; ++i) small.push_back(i * i * i);
  for (std::int64_t i = 1; i < 90; ++i) {
    large.insert(large.end(), {kExact - i, kExact / i, kExact / i - 1});
  }
  std::vector<std::int64_t> any = large;
  any.insert(any.end(), {-1, -7, -kExact, std::numeric_limits<std::int64_t>::min(), kExact,
                         std::numeric_limits<std::int64_t>::max()});
  for (const std::vector<std::int64_t>& values : {small, large, any}) {
    for (const std::int64_t divisor :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{640},
          kExact - 1, kExact + 1, std::int64_t{-5}}) {
      SCOPED_TRACE(divisor);
      KernelRun run = chain_run({step(OpKind::kDiv, {in(0), in(1)}, DType::kI64),
                                 step(OpKind::kMod, {in(0), in(1)}, DType::kI64),
                                 step(OpKind::kMod, {of(0), in(1)}, DType::kI64)},
                                {0, 1, 2},
                                test_inputs(test_tensor<std::int64_t>({std::ssize(values)}, values),
                                            test_tensor<std::int64_t>({}, {divisor})));
      run.constants = 0b10;
      expect_bits_of_operators(run);
    }
  }
}

TEST(ElementwiseChainKernel, FailsWhereAStepDoes) {
  const auto run = chain_run(
      {step(OpKind::kDiv, {in(0), in(1)}, DType::kI64), step(OpKind::kNeg, {of(0)}, DType::kI64)},
      {1}, test_inputs(test_tensor<std::int64_t>({2}, {1, 2}), test_tensor<std::int64_t>({}, {0})));
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
