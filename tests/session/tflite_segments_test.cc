// TFLite operators on segments, bits and spectra, those of StableHLO, and sparse constants.
#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {
namespace {

TestTensor whole(TfliteInts shape, Floats elements) {
  return {std::move(shape), std::move(elements), TfliteType::INT32};
}
const TestTensor kRows = {{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
const TestTensor kIds = {{4}, {2, 0, -1, 2}, TfliteType::INT32};

std::vector<RuleCase> segment_cases() {
  constexpr float kMost = std::numeric_limits<float>::max();
  const TestTensor three = ints({3}, true);
  return {
      {"SegmentSum",
       TfliteOp::SEGMENT_SUM,
       {kRows, ints({0, 0, 1, 1})},
       {{{2, 2}, {4, 6, 12, 14}}}},
      {"UnsortedSum",
       TfliteOp::UNSORTED_SEGMENT_SUM,
       {kRows, kIds, three},
       {{{3, 2}, {3, 4, 0, 0, 8, 10}}}},
      {"UnsortedProd",
       TfliteOp::UNSORTED_SEGMENT_PROD,
       {kRows, kIds, three},
       {{{3, 2}, {3, 4, 1, 1, 7, 16}}}},
      {"UnsortedMax",
       TfliteOp::UNSORTED_SEGMENT_MAX,
       {kRows, kIds, three},
       {{{3, 2}, {3, 4, -kMost, -kMost, 7, 8}}}},
      {"UnsortedMin",
       TfliteOp::UNSORTED_SEGMENT_MIN,
       {kRows, kIds, three},
       {{{3, 2}, {3, 4, kMost, kMost, 1, 2}}}},
      {"Unique",
       TfliteOp::UNIQUE,
       {constant({4}, {3, 1, 3, 2})},
       {{{3}, {3, 1, 2}}, whole({4}, {0, 1, 0, 2})}},
      {"SparseToDense",
       TfliteOp::SPARSE_TO_DENSE,
       {whole({2, 2}, {0, 1, 1, 0}), ints({2, 2}), constant({2}, {5, 6}), constant({}, {-1})},
       {{{2, 2}, {-1, 5, 6, -1}}}},
      {"MatrixDiag", TfliteOp::MATRIX_DIAG, {{{1, 2}, {1, 2}}}, {{{1, 2, 2}, {1, 0, 0, 2}}}},
      {"MatrixSetDiagOfHighMatrix",
       TfliteOp::MATRIX_SET_DIAG,
       {kRows, constant({2}, {-1, -2})},
       {{{4, 2}, {-1, 2, 3, -2, 5, 6, 7, 8}}}},
      {"BroadcastArgs",
       TfliteOp::BROADCAST_ARGS,
       {whole({2}, {3, 1}), whole({3}, {5, 1, 4})},
       {whole({3}, {5, 3, 4})}},
      {"Bucketize",
       TfliteOp::BUCKETIZE,
       {{{4}, {-1, 0, 5, 10}}},
       {whole({4}, {0, 1, 1, 2})},
       with([](auto& to) {
         const std::vector<float> boundaries = {0, 10};
         return schema::CreateBucketizeOptionsDirect(to, &boundaries);
       })},
  };
}

std::vector<RuleCase> other_cases() {
  return {
      {"Bitcast", TfliteOp::BITCAST, {{{2}, {1, -2}}}, {whole({2}, {0x3F800000, -0x40000000})}},
      {"RightShift",
       TfliteOp::RIGHT_SHIFT,
       {whole({3}, {-8, 7, -1}), whole({3}, {1, -2, 40})},
       {whole({3}, {-4, 7, -1})}},
      {"FakeQuant",
       TfliteOp::FAKE_QUANT,
       {{{4}, {-3, 0.4F, 0.6F, 99}}},
       {{{4}, {0, 0, 1, 3}}},
       with([](auto& to) { return schema::CreateFakeQuantOptions(to, 0, 3, 2); })},
      {"TransposedConvolutionOfVolumes",
       TfliteOp::CONV_3D_TRANSPOSE,
       {ints({1, 1, 1, 4, 1}), constant({1, 1, 2, 1, 1}, {1, 10}), {{1, 1, 1, 2, 1}, {3, 4}}},
       {{{1, 1, 1, 4, 1}, {3, 30, 4, 40}}},
       with([](auto& to) {
         return schema::CreateConv3DOptions(to, schema::Padding::VALID, 1, 2, 1);
       })},
      {"HloClamp",
       TfliteOp::STABLEHLO_CLAMP,
       {constant({}, {-1}), kRow, constant({}, {2})},
       {{{4}, {-1, -0.5F, 1, 2}}}},
      {"HloCompare",
       TfliteOp::STABLEHLO_COMPARE,
       {kRow, constant({4}, {1, 1, 1, 1})},
       {{{4}, {1, 1, 0, 0}, TfliteType::BOOL}},
       with([](auto& to) {
         return schema::CreateStablehloCompareOptions(
             to, schema::StablehloComparisonDirection::STABLEHLO_COMPARISON_DIRECTION_LT);
       })},
      {"HloBroadcast",
       TfliteOp::STABLEHLO_BROADCAST_IN_DIM,
       {{{2}, {1, 2}}},
       {{{2, 2}, {1, 1, 2, 2}}},
       with([](auto& to) {
         const std::vector<std::int64_t> axes = {0};
         return schema::CreateStablehloBroadcastInDimOptionsDirect(to, &axes);
       })},
      {"HloRemainder",
       TfliteOp::STABLEHLO_REMAINDER,
       {{{2}, {-7, 7}}, constant({2}, {4, -4})},
       {{{2}, {-3, 3}}}},
      {"HloCbrt", TfliteOp::STABLEHLO_CBRT, {{{2}, {-8, 27}}}, {{{2}, {-2, 3}}}},
      {"GatherWithBatchBelowTheAxis",
       TfliteOp::GATHER,
       {{{1, 2, 3}, {1, 2, 3, 4, 5, 6}}, whole({1, 2}, {2, 0})},
       {{{1, 2, 2}, {3, 1, 6, 4}}},
       with([](auto& to) { return schema::CreateGatherOptions(to, 2, 1); })},
      {"StridedSliceOfComputedLimits",
       TfliteOp::STRIDED_SLICE,
       {kRows, whole({2}, {-1, 0}), whole({2}, {0, 2}), ints({1, 1})},
       {{{2}, {7, 8}}},
       with([](auto& to) { return schema::CreateStridedSliceOptions(to, 0, 0, 0, 0, 1); })},
  };
}

class TfliteSegmentRule : public testing::TestWithParam<RuleCase> {};
TEST_P(TfliteSegmentRule, GivesItsNumbers) { expect_numbers(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Segments, TfliteSegmentRule, testing::ValuesIn(segment_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Others, TfliteSegmentRule, testing::ValuesIn(other_cases()), name_of_rule);

/// Runs a file of one input and one output.
Result<Floats> outputs_of(const TfliteModel& file, Floats input) {
  const std::string bytes = tflite_bytes(file);
  auto model = Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, {});
  if (!session) return tl::unexpected(session.error());
  const TestTensor given = {file.graphs[0].tensors[0].shape, std::move(input)};
  const Tensor tensor = tensor_of(given, DType::kF32);
  auto results = session->run(std::vector<NamedInput>{{model->inputs()[0].name, tensor.view()}});
  if (!results) return tl::unexpected(results.error());
  return elements_as_floats((*results)[0].view());
}

/// x, its transform, that without an axis, and what an operator makes of that.
TfliteModel spectrum_file(TfliteOp last) {
  return {.graphs = {
              {.tensors = {{"x", {1, 1, 4}},
                           {"lengths", {2}, tflite_data<std::int32_t>({1, 4}), TfliteType::INT32},
                           {"spectrum", {1, 1, 3}, {}, TfliteType::COMPLEX64},
                           {"line", {1, 3}, {}, TfliteType::COMPLEX64},
                           {"y", {1, 3}}},
               .operators = {{TfliteOp::RFFT2D, {0, 1}, {2}},
                             {TfliteOp::SQUEEZE, {2}, {3}, with([](auto& to) {
                                const TfliteInts axes = {-2};
                                return schema::CreateSqueezeOptionsDirect(to, &axes);
                              })},
                             {last, {3}, {4}}},
               .inputs = {0},
               .outputs = {4}}}};
}

TEST(TfliteSpectrum, IsAPairOfRealNumbers) {
  using testing::FloatNear;
  using testing::Pointwise;
  const Floats x = {1, 2, 3, 4};
  const auto expect = [&](TfliteOp op, const Floats& wanted) {
    const auto y = outputs_of(spectrum_file(op), x);
    ASSERT_TRUE(y) << y.error().to_string();
    EXPECT_THAT(*y, Pointwise(FloatNear(1e-5F), wanted));
  };
  expect(TfliteOp::REAL, {10, -2, -2});
  expect(TfliteOp::IMAG, {0, 2, 0});
  expect(TfliteOp::COMPLEX_ABS, {10, std::sqrt(8.F), 2});
  expect(TfliteOp::CAST, {10, -2, -2});
}

TEST(TfliteSpectrum, IsRefusedByOperatorsOnRealNumbers) {
  const auto y = outputs_of(spectrum_file(TfliteOp::ABS), {1, 2, 3, 4});
  ASSERT_FALSE(y);
  EXPECT_THAT(y.error().message, testing::HasSubstr("ABS is not supported for complex numbers"));
  TfliteModel file = spectrum_file(TfliteOp::REAL);
  file.graphs[0].outputs = {3};
  EXPECT_THAT(outputs_of(file, {1, 2, 3, 4}).error().message,
              testing::HasSubstr("complex outputs are not supported"));
}

/// Rows of a 4x4 matrix in blocks of two rows; the second pair of rows stores columns 1 and 3.
FlatTable<schema::SparsityParameters> blocks_of_rows() {
  return [](FlatBuilder& to) {
    const auto bytes = [&](const std::vector<std::uint8_t>& values) {
      return schema::CreateUint8VectorDirect(to, &values).Union();
    };
    const auto dense = [&](int size) {
      return schema::CreateDimensionMetadata(to, schema::DimensionType::DENSE, size);
    };
    const auto segments = bytes({0, 0, 2}), indices = bytes({1, 3});
    const std::vector<flatbuffers::Offset<schema::DimensionMetadata>> levels = {
        dense(2),
        schema::CreateDimensionMetadata(to, schema::DimensionType::SPARSE_CSR, 0,
                                        schema::SparseIndexVector::Uint8Vector, segments,
                                        schema::SparseIndexVector::Uint8Vector, indices),
        dense(2)};
    const TfliteInts order = {0, 1, 2}, map = {0};
    return schema::CreateSparsityParametersDirect(to, &order, &map, &levels);
  };
}

TEST(TfliteSparse, ConstantsGetTheirZeros) {
  const TfliteModel file = {
      .graphs = {{.tensors = {{"x", {4, 4}},
                              {.name = "sparse",
                               .shape = {4, 4},
                               .bytes = tflite_data<float>({1, 2, 3, 4}),
                               .sparsity = blocks_of_rows()},
                              {"dense", {4, 4}},
                              {"y", {4, 4}}},
                  .operators = {{TfliteOp::DENSIFY, {1}, {2}}, {TfliteOp::MAXIMUM, {0, 2}, {3}}},
                  .inputs = {0},
                  .outputs = {3}}}};
  const auto y = outputs_of(file, Floats(16));
  ASSERT_TRUE(y) << y.error().to_string();
  EXPECT_EQ(*y, (Floats{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 2, 0, 4}));
}

}  // namespace
}  // namespace parallax::tflite_rule
