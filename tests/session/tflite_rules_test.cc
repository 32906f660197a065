// TFLite operators that compute: elementwise ones, products, reductions.
#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {
namespace {

std::vector<RuleCase> elementwise_cases() {
  return {
      {"Add",
       TfliteOp::ADD,
       {kRow, constant({1}, {1})},
       {{{4}, {0, 0.5F, 2, 9}}},
       with([](auto& to) { return schema::CreateAddOptions(to, Activation::RELU); })},
      {"AddRelu6",
       TfliteOp::ADD,
       {kRow, constant({1}, {0})},
       {{{4}, {0, 0, 1, 6}}},
       with([](auto& to) { return schema::CreateAddOptions(to, Activation::RELU6); })},
      {"MulRelu1",
       TfliteOp::MUL,
       {kRow, constant({1}, {1})},
       {{{4}, {-1, -0.5F, 1, 1}}},
       with([](auto& to) { return schema::CreateMulOptions(to, Activation::RELU_N1_TO_1); })},
      {"SubTanh",
       TfliteOp::SUB,
       {kRow, constant({1}, {0})},
       {{{4}, {std::tanh(-2.F), std::tanh(-0.5F), std::tanh(1.F), std::tanh(8.F)}}},
       with([](auto& to) { return schema::CreateSubOptions(to, Activation::TANH); })},
      {"Relu6", TfliteOp::RELU6, {kRow}, {{{4}, {0, 0, 1, 6}}}},
      {"Relu0To1", TfliteOp::RELU_0_TO_1, {kRow}, {{{4}, {0, 0, 1, 1}}}},
      {"LeakyRelu",
       TfliteOp::LEAKY_RELU,
       {kRow},
       {{{4}, {-0.5F, -0.125F, 1, 8}}},
       with([](auto& to) { return schema::CreateLeakyReluOptions(to, 0.25F); })},
      {"Rsqrt", TfliteOp::RSQRT, {{{3}, {1, 4, 16}}}, {{{3}, {1, 0.5F, 0.25F}}}},
      {"SquaredDifference",
       TfliteOp::SQUARED_DIFFERENCE,
       {kRow, constant({1}, {1})},
       {{{4}, {9, 2.25F, 0, 49}}}},
      {"FloorDiv",
       TfliteOp::FLOOR_DIV,
       {{{4}, {-7, 7, -6, 0}}, constant({1}, {2})},
       {{{4}, {-4, 3, -3, 0}}}},
      {"FloorDivOfInts",
       TfliteOp::FLOOR_DIV,
       {{{4}, {-7, 7, -6, 0}, TfliteType::INT32}, ints({2})},
       {{{4}, {-4, 3, -3, 0}, TfliteType::INT32}}},
      {"FloorMod",
       TfliteOp::FLOOR_MOD,
       {{{4}, {-7, 7, -6, 0}}, constant({1}, {4})},
       {{{4}, {1, 3, 2, 0}}}},
      {"FloorModOfInts",
       TfliteOp::FLOOR_MOD,
       {{{4}, {-7, 7, -6, 0}, TfliteType::INT32}, ints({-4})},
       {{{4}, {-3, -1, -2, 0}, TfliteType::INT32}}},
      {"Atan2",
       TfliteOp::ATAN2,
       {{{5}, {1, 1, -1, 0, -1}}, {{5}, {1, -1, -1, 0, 0}}},
       {{{5}, {0.7853982F, 2.3561945F, -2.3561945F, 0, -1.5707964F}}}},
  };
}

std::vector<RuleCase> conversion_cases() {
  return {
      {"NotEqual",
       TfliteOp::NOT_EQUAL,
       {kRow, constant({1}, {1})},
       {{{4}, {1, 1, 0, 1}, TfliteType::BOOL}}},
      {"SelectByRow",
       TfliteOp::SELECT,
       {{{2}, {1, 0}, TfliteType::BOOL}, kTwoByThree, constant({2, 3}, {0, 0, 0, 0, 0, 0})},
       {{{2, 3}, {1, 2, 3, 0, 0, 0}}}},
      {"Cast", TfliteOp::CAST, {kRow}, {{{4}, {-2, 0, 1, 8}, TfliteType::INT32}}},
      {"Quantize",
       TfliteOp::QUANTIZE,
       {kRow},
       {{{4}, {-3, 0, 3, 17}, TfliteType::INT8, false, tflite_quantized({0.5F}, {1})}}},
      {"Dequantize",
       TfliteOp::DEQUANTIZE,
       {{{4}, {-3, 0, 3, 17}, TfliteType::INT8, false, tflite_quantized({0.5F}, {1})}},
       {{{4}, {-2, -0.5F, 1, 8}}}},
      {"AddOfQuantized",
       TfliteOp::ADD,
       {{{2}, {10, -4}, TfliteType::INT8, false, tflite_quantized({0.5F}, {0})},
        {{2}, {2, 2}, TfliteType::INT8, false, tflite_quantized({1}, {1})}},
       {{{2}, {8, 1}, TfliteType::INT8, false, tflite_quantized({1}, {2})}}},
  };
}

TfliteOptions reducer(bool keep) {
  return with([=](auto& to) { return schema::CreateReducerOptions(to, keep); });
}

std::vector<RuleCase> product_cases() {
  return {
      {"FullyConnectedFlattens",
       TfliteOp::FULLY_CONNECTED,
       {{{1, 2, 2}, {1, 2, 3, 4}}, constant({1, 4}, {1, 10, 100, 1000}), constant({1}, {1})},
       {{{1, 1}, {4322}}},
       with([](auto& to) { return schema::CreateFullyConnectedOptions(to); })},
      {"FullyConnectedKeepsDimensions",
       TfliteOp::FULLY_CONNECTED,
       {{{1, 2, 2}, {1, 2, 3, 4}}, constant({1, 2}, {1, -10})},
       {{{1, 2, 1}, {0, 0}}},
       with([](auto& to) {
         return schema::CreateFullyConnectedOptions(
             to, Activation::RELU, schema::FullyConnectedOptionsWeightsFormat::DEFAULT, true);
       })},
      {"FullyConnectedOfQuantizedWeights",
       TfliteOp::FULLY_CONNECTED,
       {{{1, 2}, {1, 2}},
        {{2, 2}, {1, 2, 3, 4}, TfliteType::INT8, true, tflite_quantized({1, 0.5F}, {0, 0})}},
       {{{1, 2}, {5, 5.5F}}},
       with([](auto& to) { return schema::CreateFullyConnectedOptions(to); })},
      {"BatchMatMulOfTransposed",
       TfliteOp::BATCH_MATMUL,
       {kTwoByThree, {{1, 3}, {1, 10, 100}}},
       {{{2, 1}, {321, 654}}},
       with([](auto& to) { return schema::CreateBatchMatMulOptions(to, false, true); })},
      {"SoftmaxWithBeta",
       TfliteOp::SOFTMAX,
       {{{1, 2}, {0, 1}}},
       {{{1, 2}, {0.1192029F, 0.8807971F}}},
       with([](auto& to) { return schema::CreateSoftmaxOptions(to, 2); })},
      {"Mean", TfliteOp::MEAN, {kTwoByThree, ints({0, -1})}, {{{}, {3.5F}}}, reducer(false)},
      {"SumKeepsAxes", TfliteOp::SUM, {kTwoByThree, ints({1})}, {{{2, 1}, {6, 15}}}, reducer(true)},
      {"ReduceAny",
       TfliteOp::REDUCE_ANY,
       {{{2, 2}, {0, 1, 0, 0}, TfliteType::BOOL}, ints({1})},
       {{{2}, {1, 0}, TfliteType::BOOL}},
       reducer(false)},
      {"ArgMax",
       TfliteOp::ARG_MAX,
       {kTwoByThree, ints({1}, true)},
       {{{2}, {2, 2}, TfliteType::INT32}},
       with([](auto& to) { return schema::CreateArgMaxOptions(to, TfliteType::INT32); })},
      {"L2Normalization", TfliteOp::L2_NORMALIZATION, {{{1, 2}, {3, 4}}}, {{{1, 2}, {0.6F, 0.8F}}}},
      {"Cumsum",
       TfliteOp::CUMSUM,
       {kTwoByThree, ints({1}, true)},
       {{{2, 3}, {0, 1, 3, 0, 4, 9}}},
       with([](auto& to) { return schema::CreateCumsumOptions(to, true); })},
      {"AddN", TfliteOp::ADD_N, {kRow, kRow, kRow}, {{{4}, {-6, -1.5F, 3, 24}}}},
  };
}

class TfliteRule : public testing::TestWithParam<RuleCase> {};
TEST_P(TfliteRule, GivesItsNumbers) { expect_numbers(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Elementwise, TfliteRule, testing::ValuesIn(elementwise_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Conversions, TfliteRule, testing::ValuesIn(conversion_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Products, TfliteRule, testing::ValuesIn(product_cases()), name_of_rule);

}  // namespace
}  // namespace parallax::tflite_rule
