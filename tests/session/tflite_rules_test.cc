// Operators of TFLite files, one file each, run and compared with numbers worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "load/tflite_test_util.h"
#include "parallax/session.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using Floats = std::vector<float>;
using Activation = schema::ActivationFunctionType;

/// A tensor with its elements: floats, and integers stored as i32, or as bytes for BOOL, INT8.
struct TestTensor {
  TfliteInts shape;
  Floats elements;
  TfliteType type = TfliteType::FLOAT32;
  bool constant = false;
  FlatTable<schema::QuantizationParameters> quantization = {};
};
TestTensor ints(const TfliteInts& elements, bool scalar = false) {
  return {scalar ? TfliteInts{} : TfliteInts{static_cast<std::int32_t>(elements.size())},
          Floats(elements.begin(), elements.end()), TfliteType::INT32, true};
}
TestTensor constant(TfliteInts shape, Floats elements) {
  return {std::move(shape), std::move(elements), TfliteType::FLOAT32, true};
}

struct RuleCase {
  std::string name;
  TfliteOp code;
  std::vector<TestTensor> inputs;
  std::vector<TestTensor> outputs;
  TfliteOptions options = {};
};
void PrintTo(const RuleCase& c, std::ostream* to) { *to << c.name; }

std::size_t width_of(TfliteType type) {
  return type == TfliteType::INT8 || type == TfliteType::BOOL ? 1
         : type == TfliteType::INT64                          ? 8
                                                              : 4;
}

std::string bytes_of(const TestTensor& tensor) {
  std::string bytes;
  for (const float x : tensor.elements) {
    const auto whole = static_cast<std::int64_t>(x);
    const char* const from = tensor.type == TfliteType::FLOAT32
                                 ? reinterpret_cast<const char*>(&x)
                                 : reinterpret_cast<const char*>(&whole);
    bytes.append(from, width_of(tensor.type));
  }
  return bytes;
}

TfliteModel model_of(const RuleCase& c) {
  TfliteGraph graph;
  TfliteStep step{.code = c.code, .options = c.options};
  const auto add = [&](const TestTensor& tensor, const std::string& name, bool given) {
    graph.tensors.push_back({.name = name,
                             .shape = tensor.shape,
                             .bytes = given && tensor.constant ? bytes_of(tensor) : "",
                             .type = tensor.type,
                             .quantization = tensor.quantization});
    return static_cast<std::int32_t>(graph.tensors.size()) - 1;
  };
  for (const TestTensor& input : c.inputs) {
    const std::int32_t index = add(input, "in" + std::to_string(step.inputs.size()), true);
    step.inputs.push_back(index);
    if (!input.constant) graph.inputs.push_back(index);
  }
  for (const TestTensor& output : c.outputs) {
    const std::int32_t index = add(output, "out" + std::to_string(step.outputs.size()), false);
    step.outputs.push_back(index);
    graph.outputs.push_back(index);
  }
  graph.operators = {std::move(step)};
  return {.graphs = {std::move(graph)}};
}

Tensor tensor_of(const TestTensor& test, DType dtype) {
  Dims dims;
  for (const std::int32_t dim : test.shape) dims.push_back(dim);
  Tensor tensor = *Tensor::allocate(dtype, dims);
  const std::string bytes = bytes_of(test);
  if (!bytes.empty()) std::memcpy(tensor.mutable_view().data, bytes.data(), bytes.size());
  return tensor;
}

Floats elements_as_floats(const TensorView& view) {
  Floats elements;
  const auto* bytes = static_cast<const char*>(view.data);
  for (std::int64_t i = 0; i < view.dims.elements(); ++i) {
    if (view.dtype == DType::kF32) {
      elements.push_back(view.as<float>()[static_cast<std::size_t>(i)]);
      continue;
    }
    const auto width = static_cast<std::size_t>(size_of(view.dtype));
    std::int64_t whole = 0;
    std::memcpy(&whole, bytes + static_cast<std::size_t>(i) * width, width);
    if (width == 1) whole = static_cast<std::int8_t>(whole);
    if (width == 4) whole = static_cast<std::int32_t>(whole);
    elements.push_back(static_cast<float>(whole));
  }
  return elements;
}

class TfliteRule : public testing::TestWithParam<RuleCase> {};

TEST_P(TfliteRule, GivesItsNumbers) {
  const RuleCase& c = GetParam();
  const std::string bytes = tflite_bytes(model_of(c));
  auto model = Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
  ASSERT_TRUE(model) << model.error().to_string();
  auto session = Session::create(*model, {});
  ASSERT_TRUE(session) << session.error().to_string();
  std::vector<Tensor> tensors;
  std::vector<NamedTensor> given;
  std::size_t next = 0;
  for (const TestTensor& input : c.inputs)
    if (!input.constant) tensors.push_back(tensor_of(input, model->inputs()[next++].dtype));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    given.push_back({model->inputs()[i].name, tensors[i].view()});
  auto results = session->run(given);
  ASSERT_TRUE(results) << results.error().to_string();
  ASSERT_EQ(results->size(), c.outputs.size());
  for (std::size_t i = 0; i < results->size(); ++i) {
    const TensorView view = (*results)[i].view();
    Dims wanted;
    for (const std::int32_t dim : c.outputs[i].shape) wanted.push_back(dim);
    EXPECT_EQ(view.dims, wanted);
    EXPECT_EQ(info_of(view.dtype).tflite, static_cast<int>(c.outputs[i].type));
    EXPECT_THAT(elements_as_floats(view),
                testing::Pointwise(testing::FloatNear(1e-5F), c.outputs[i].elements));
  }
}

/// Options of an operator: a table that `create(builder)` writes.
template <class Create>
TfliteOptions with(Create create) {
  return tflite_options([=](FlatBuilder& to) { return create(to); });
}

const TestTensor kRow = {{4}, {-2, -0.5F, 1, 8}};
const TestTensor kTwoByThree = {{2, 3}, {1, 2, 3, 4, 5, 6}};
/// [1, 4, 4, 1]: 1 to 16.
const TestTensor kImage = {{1, 4, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

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
      {"NotEqual",
       TfliteOp::NOT_EQUAL,
       {kRow, constant({1}, {1})},
       {{{4}, {1, 1, 0, 1}, TfliteType::BOOL}}},
      {"SelectByRow",
       TfliteOp::SELECT,
       {{{2}, {1, 0}, TfliteType::BOOL}, kTwoByThree, constant({2, 3}, {0, 0, 0, 0, 0, 0})},
       {{{2, 3}, {1, 2, 3, 0, 0, 0}}}},
      {"Cast", TfliteOp::CAST, {kRow}, {{{4}, {-2, 0, 1, 8}, TfliteType::INT32}}},
      {"Atan2",
       TfliteOp::ATAN2,
       {{{5}, {1, 1, -1, 0, -1}}, {{5}, {1, -1, -1, 0, 0}}},
       {{{5}, {0.7853982F, 2.3561945F, -2.3561945F, 0, -1.5707964F}}}},
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

auto conv(schema::Padding padding, int stride, Activation activation) {
  return with([=](auto& to) {
    return schema::CreateConv2DOptions(to, padding, stride, stride, activation);
  });
}

std::vector<RuleCase> image_cases() {
  const TestTensor ones = constant({1, 2, 2, 1}, {1, 1, 1, 1});
  return {
      {"ConvValid",
       TfliteOp::CONV_2D,
       {kImage, ones, constant({1}, {-40})},
       {{{1, 2, 2, 1}, {0, 0, 6, 14}}},
       conv(schema::Padding::VALID, 2, Activation::RELU)},
      {"ConvSamePadsTheEnd",
       TfliteOp::CONV_2D,
       {kImage, ones, constant({1}, {0})},
       {{{1, 4, 4, 1}, {14, 18, 22, 12, 30, 34, 38, 20, 46, 50, 54, 28, 27, 29, 31, 16}}},
       conv(schema::Padding::SAME, 1, Activation::NONE)},
      {"ConvOfTwoGroups",
       TfliteOp::CONV_2D,
       {{{1, 1, 1, 2}, {3, 5}}, constant({2, 1, 1, 1}, {10, 100}), constant({2}, {0, 1})},
       {{{1, 1, 1, 2}, {30, 501}}},
       conv(schema::Padding::VALID, 1, Activation::NONE)},
      {"Depthwise",
       TfliteOp::DEPTHWISE_CONV_2D,
       {{{1, 1, 2, 2}, {1, 2, 3, 4}},
        constant({1, 1, 1, 4}, {1, 10, 100, 1000}),
        constant({4}, {0, 0, 0, 1})},
       {{{1, 1, 2, 4}, {1, 10, 200, 2001, 3, 30, 400, 4001}}},
       with([](auto& to) {
         return schema::CreateDepthwiseConv2DOptions(to, schema::Padding::VALID, 1, 1, 2);
       })},
      {"TransposeConv",
       TfliteOp::TRANSPOSE_CONV,
       {ints({1, 4, 4, 1}), ones, {{1, 2, 2, 1}, {1, 2, 3, 4}}},
       {{{1, 4, 4, 1}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}}},
       with([](auto& to) {
         return schema::CreateTransposeConvOptions(to, schema::Padding::VALID, 2, 2);
       })},
      {"TransposeConvSame",
       TfliteOp::TRANSPOSE_CONV,
       {ints({1, 1, 3, 1}), constant({1, 1, 3, 1}, {1, 2, 4}), {{1, 1, 3, 1}, {1, 10, 100}}},
       {{{1, 1, 3, 1}, {12, 124, 240}}},
       with([](auto& to) {
         return schema::CreateTransposeConvOptions(to, schema::Padding::SAME, 1, 1);
       })},
      {"AveragePoolSame",
       TfliteOp::AVERAGE_POOL_2D,
       {kImage},
       {{{1, 2, 2, 1}, {6, 7.5F, 12, 13.5F}}},
       with([](auto& to) {
         return schema::CreatePool2DOptions(to, schema::Padding::SAME, 2, 2, 3, 3);
       })},
      {"MaxPool",
       TfliteOp::MAX_POOL_2D,
       {kImage},
       {{{1, 2, 2, 1}, {6, 8, 14, 16}}},
       with([](auto& to) {
         return schema::CreatePool2DOptions(to, schema::Padding::VALID, 2, 2, 2, 2);
       })},
      {"L2Pool",
       TfliteOp::L2_POOL_2D,
       {{{1, 1, 2, 1}, {1, 7}}},
       {{{1, 1, 1, 1}, {5}}},
       with([](auto& to) {
         return schema::CreatePool2DOptions(to, schema::Padding::VALID, 2, 1, 2, 1);
       })},
      {"ResizeNearest",
       TfliteOp::RESIZE_NEAREST_NEIGHBOR,
       {{{1, 1, 2, 1}, {1, 2}}, ints({1, 4})},
       {{{1, 1, 4, 1}, {1, 1, 2, 2}}},
       with([](auto& to) { return schema::CreateResizeNearestNeighborOptions(to, false, true); })},
      {"ResizeNearestToThirds",
       TfliteOp::RESIZE_NEAREST_NEIGHBOR,
       {{{1, 1, 4, 1}, {1, 2, 3, 4}}, ints({1, 3})},
       {{{1, 1, 3, 1}, {1, 3, 4}}},
       with([](auto& to) { return schema::CreateResizeNearestNeighborOptions(to, false, true); })},
      {"ResizeBilinear",
       TfliteOp::RESIZE_BILINEAR,
       {{{1, 1, 2, 1}, {1, 3}}, ints({1, 4})},
       {{{1, 1, 4, 1}, {1, 1.5F, 2.5F, 3}}},
       with([](auto& to) { return schema::CreateResizeBilinearOptions(to, false, true); })},
      {"DepthToSpace",
       TfliteOp::DEPTH_TO_SPACE,
       {{{1, 1, 1, 4}, {1, 2, 3, 4}}},
       {{{1, 2, 2, 1}, {1, 2, 3, 4}}},
       with([](auto& to) { return schema::CreateDepthToSpaceOptions(to, 2); })},
      {"SpaceToDepth",
       TfliteOp::SPACE_TO_DEPTH,
       {{{1, 2, 2, 1}, {1, 2, 3, 4}}},
       {{{1, 1, 1, 4}, {1, 2, 3, 4}}},
       with([](auto& to) { return schema::CreateSpaceToDepthOptions(to, 2); })},
  };
}

std::vector<RuleCase> movement_cases() {
  return {
      {"ReshapeByOption",
       TfliteOp::RESHAPE,
       {kTwoByThree},
       {{{3, 2}, {1, 2, 3, 4, 5, 6}}},
       with([](auto& to) {
         const TfliteInts shape = {3, -1};
         return schema::CreateReshapeOptionsDirect(to, &shape);
       })},
      {"Pack",
       TfliteOp::PACK,
       {{{2}, {1, 2}}, {{2}, {3, 4}}},
       {{{2, 2}, {1, 3, 2, 4}}},
       with([](auto& to) { return schema::CreatePackOptions(to, 2, 1); })},
      {"Unpack",
       TfliteOp::UNPACK,
       {kTwoByThree},
       {{{3}, {1, 2, 3}}, {{3}, {4, 5, 6}}},
       with([](auto& to) { return schema::CreateUnpackOptions(to, 2, 0); })},
      {"SplitV",
       TfliteOp::SPLIT_V,
       {kTwoByThree, ints({1, -1}), ints({1}, true)},
       {{{2, 1}, {1, 4}}, {{2, 2}, {2, 3, 5, 6}}},
       with([](auto& to) { return schema::CreateSplitVOptions(to, 2); })},
      {"PadV2",
       TfliteOp::PADV2,
       {{{1, 2}, {1, 2}}, {{2, 2}, {1, 0, 0, 1}, TfliteType::INT32, true}, constant({}, {9})},
       {{{2, 3}, {9, 9, 9, 1, 2, 9}}}},
      {"MirrorPadSymmetric",
       TfliteOp::MIRROR_PAD,
       {{{3}, {1, 2, 3}}, {{1, 2}, {2, 1}, TfliteType::INT32, true}},
       {{{6}, {2, 1, 1, 2, 3, 3}}},
       with([](auto& to) {
         return schema::CreateMirrorPadOptions(to, schema::MirrorPadMode::SYMMETRIC);
       })},
      {"MirrorPadReflect",
       TfliteOp::MIRROR_PAD,
       {{{3}, {1, 2, 3}}, {{1, 2}, {2, 1}, TfliteType::INT32, true}},
       {{{6}, {3, 2, 1, 2, 3, 2}}},
       with([](auto& to) {
         return schema::CreateMirrorPadOptions(to, schema::MirrorPadMode::REFLECT);
       })},
      {"ReverseV2", TfliteOp::REVERSE_V2, {kTwoByThree, ints({1})}, {{{2, 3}, {3, 2, 1, 6, 5, 4}}}},
      {"SpaceToBatch",
       TfliteOp::SPACE_TO_BATCH_ND,
       {{{1, 1, 4, 1}, {1, 2, 3, 4}},
        ints({1, 2}),
        {{2, 2}, {0, 0, 2, 0}, TfliteType::INT32, true}},
       {{{2, 1, 3, 1}, {0, 1, 3, 0, 2, 4}}}},
      {"BatchToSpace",
       TfliteOp::BATCH_TO_SPACE_ND,
       {{{2, 1, 3, 1}, {0, 1, 3, 0, 2, 4}},
        ints({1, 2}),
        {{2, 2}, {0, 0, 2, 0}, TfliteType::INT32, true}},
       {{{1, 1, 4, 1}, {1, 2, 3, 4}}}},
      {"Shape", TfliteOp::SHAPE, {kTwoByThree}, {{{2}, {2, 3}, TfliteType::INT32}}},
      {"Rank", TfliteOp::RANK, {kTwoByThree}, {{{}, {2}, TfliteType::INT32}}},
  };
}

TfliteOptions strided(int begin, int end, int ellipsis, int added, int removed,
                      bool offset = false) {
  return with([=](auto& to) {
    return schema::CreateStridedSliceOptions(to, begin, end, ellipsis, added, removed, offset);
  });
}

std::vector<RuleCase> index_cases() {
  return {
      {"StridedSliceMasks",
       TfliteOp::STRIDED_SLICE,
       {kTwoByThree, ints({9, 1}), ints({9, 9}), ints({1, 1})},
       {{{2, 2}, {2, 3, 5, 6}}},
       strided(1, 3, 0, 0, 0)},
      {"StridedSliceTakesOne",
       TfliteOp::STRIDED_SLICE,
       {kTwoByThree, ints({-1, 0}), ints({0, 3}), ints({1, 2})},
       {{{2}, {4, 6}}},
       strided(0, 0, 0, 0, 1)},
      {"StridedSliceEllipsisAndNewAxis",
       TfliteOp::STRIDED_SLICE,
       {kTwoByThree, ints({0, 0, 1}), ints({0, 0, 2}), ints({1, 1, 1})},
       {{{2, 1, 1}, {2, 5}}},
       strided(0, 0, 1, 2, 0)},
      {"StridedSliceBackwards",
       TfliteOp::STRIDED_SLICE,
       {kTwoByThree, ints({0, 0}), ints({0, 0}), ints({-1, -1})},
       {{{2, 3}, {6, 5, 4, 3, 2, 1}}},
       strided(3, 3, 0, 0, 0)},
      {"StridedSliceOffset",
       TfliteOp::STRIDED_SLICE,
       {kTwoByThree, ints({0, 1}), ints({2, 2}), ints({1, 1})},
       {{{2, 2}, {2, 3, 5, 6}}},
       strided(0, 0, 0, 0, 0, true)},
      {"SliceToTheEnd",
       TfliteOp::SLICE,
       {kTwoByThree, ints({1, 0}), ints({-1, 2})},
       {{{1, 2}, {4, 5}}}},
      {"GatherOfBatches",
       TfliteOp::GATHER,
       {kTwoByThree, {{2, 1}, {2, 0}, TfliteType::INT32}},
       {{{2, 1}, {3, 4}}},
       with([](auto& to) { return schema::CreateGatherOptions(to, 1, 1); })},
      {"ScatterNdAdds",
       TfliteOp::SCATTER_ND,
       {{{3, 1}, {0, 2, 0}, TfliteType::INT32, true}, {{3}, {1, 2, 4}}, ints({4})},
       {{{4}, {5, 0, 2, 0}}}},
      {"TopK",
       TfliteOp::TOPK_V2,
       {kTwoByThree, ints({2}, true)},
       {{{2, 2}, {3, 2, 6, 5}}, {{2, 2}, {2, 1, 2, 1}, TfliteType::INT32}}},
      {"OneHot",
       TfliteOp::ONE_HOT,
       {{{2}, {2, 0}, TfliteType::INT32}, ints({3}, true), constant({}, {5}), constant({}, {-1})},
       {{{2, 3}, {-1, -1, 5, 5, -1, -1}}},
       with([](auto& to) { return schema::CreateOneHotOptions(to, -1); })},
      {"Where",
       TfliteOp::WHERE,
       {{{2, 2}, {0, 1, 1, 0}, TfliteType::BOOL}},
       {{{2, 2}, {0, 1, 1, 0}, TfliteType::INT64}}},
      {"DynamicUpdateSliceStaysInside",
       TfliteOp::DYNAMIC_UPDATE_SLICE,
       {kTwoByThree, constant({1, 2}, {8, 9}), {{2}, {0, 7}, TfliteType::INT32}},
       {{{2, 3}, {1, 8, 9, 4, 5, 6}}}},
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

std::string name_of(const testing::TestParamInfo<RuleCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Elementwise, TfliteRule, testing::ValuesIn(elementwise_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Images, TfliteRule, testing::ValuesIn(image_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Movement, TfliteRule, testing::ValuesIn(movement_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Indices, TfliteRule, testing::ValuesIn(index_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Products, TfliteRule, testing::ValuesIn(product_cases()), name_of);

}  // namespace
}  // namespace parallax
