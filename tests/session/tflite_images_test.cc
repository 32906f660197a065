// TFLite operators on images, and those that move or pick elements.
#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {
namespace {

auto conv(schema::Padding padding, int stride, Activation activation) {
  return with([=](auto& to) {
    return schema::CreateConv2DOptions(to, padding, stride, stride, activation);
  });
}

std::vector<RuleCase> convolution_cases() {
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
  };
}

std::vector<RuleCase> image_cases() {
  return {
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

class TfliteImageRule : public testing::TestWithParam<RuleCase> {};
TEST_P(TfliteImageRule, GivesItsNumbers) { expect_numbers(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Convolutions, TfliteImageRule, testing::ValuesIn(convolution_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Images, TfliteImageRule, testing::ValuesIn(image_cases()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Movement, TfliteImageRule, testing::ValuesIn(movement_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Indices, TfliteImageRule, testing::ValuesIn(index_cases()), name_of_rule);

}  // namespace
}  // namespace parallax::tflite_rule
