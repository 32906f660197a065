// TFLite operators that choose boxes, and custom operators of MediaPipe.
#include <flatbuffers/flexbuffers.h>

#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {
namespace {

/// Two boxes that overlap by half, one inside the first, one apart.
const TestTensor kBoxes = {{4, 4}, {0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 1, 1, 5, 5, 6, 6}};
const TestTensor kScores = {{4}, {0.5F, 0.75F, 0.25F, 0.625F}};
TestTensor number(float x) { return constant({}, {x}); }
TestTensor counts(TfliteInts shape, Floats elements) {
  return {std::move(shape), std::move(elements), TfliteType::INT32};
}

std::vector<RuleCase> suppression_cases() {
  return {
      {"OverlapOfTheThreshold",
       TfliteOp::NON_MAX_SUPPRESSION_V4,
       {kBoxes, kScores, ints({3}, true), number(0.5F), number(0.25F)},
       {counts({3}, {1, 3, 0}), counts({}, {2})}},
      {"OverlapBelowTheThreshold",
       TfliteOp::NON_MAX_SUPPRESSION_V4,
       {kBoxes, kScores, ints({4}, true), number(0.75F), number(0.25F)},
       {counts({4}, {1, 3, 0, 0}), counts({}, {3})}},
      {"ThresholdOfZero",
       TfliteOp::NON_MAX_SUPPRESSION_V4,
       {kBoxes, kScores, ints({2}, true), number(0), number(0)},
       {counts({2}, {1, 0}), counts({}, {1})}},
      {"Scores",
       TfliteOp::NON_MAX_SUPPRESSION_V5,
       {kBoxes, kScores, ints({3}, true), number(0.5F), number(0), number(0)},
       {counts({3}, {1, 3, 0}), {{3}, {0.75F, 0.625F, 0}}, counts({}, {2})}},
  };
}

std::string detection_options(int most, bool regular) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("max_detections", most);
    builder.Int("max_classes_per_detection", 1);
    builder.Int("detections_per_class", 2);
    builder.Int("num_classes", 2);
    builder.Bool("use_regular_nms", regular);
    builder.Float("nms_score_threshold", 0.25F);
    builder.Float("nms_iou_threshold", 0.5F);
    for (const char* const scale : {"y_scale", "x_scale", "h_scale", "w_scale"})
      builder.Float(scale, 2);
  });
  builder.Finish();
  return {builder.GetBuffer().begin(), builder.GetBuffer().end()};
}

/// Anchors are squares; the first box is moved down by half a side. Scores begin with the
/// background's.
RuleCase detection(const std::string& name, bool regular, std::vector<TestTensor> outputs) {
  return {name,
          TfliteOp::CUSTOM,
          {{{1, 2, 4}, {1, 0, 0, 0, 0, 0, 0, 0}},
           {{1, 2, 3}, {1, 0.5F, 0.25F, 1, 0.125F, 0.75F}},
           constant({2, 4}, {0.5F, 0.5F, 1, 1, 9, 9, 2, 2})},
          std::move(outputs),
          {},
          "TFLite_Detection_PostProcess",
          detection_options(3, regular)};
}

std::vector<RuleCase> detection_cases() {
  return {detection("BestClassOfEachBox", false,
                    {{{1, 3, 4}, {8, 8, 10, 10, 0.5F, 0, 1.5F, 1, 0, 0, 0, 0}},
                     {{1, 3}, {1, 0, 0}},
                     {{1, 3}, {0.75F, 0.5F, 0}},
                     {{1}, {2}}}),
          detection("EachClass", true,
                    {{{1, 3, 4}, {8, 8, 10, 10, 0.5F, 0, 1.5F, 1, 0.5F, 0, 1.5F, 1}},
                     {{1, 3}, {1, 0, 1}},
                     {{1, 3}, {0.75F, 0.5F, 0.25F}},
                     {{1}, {3}}})};
}

/// Padding, then strides and sizes with the columns first, then the activation.
std::string pool_options(int padding, int stride, int window) {
  return tflite_data<std::int32_t>({padding, stride, stride, window, window, 0, 0, 0});
}

std::vector<RuleCase> custom_cases() {
  constexpr int kSame = 1, kValid = 2;
  const TestTensor pooled = {{1, 1, 2, 1}, {6, 5}};
  return {
      {"MaxPoolingWithArgmax",
       TfliteOp::CUSTOM,
       {{{1, 2, 3, 1}, {1, 6, 2, 3, 4, 5}}},
       {pooled, {{1, 1, 2, 1}, {1.1F, 2.1F}}},
       {},
       "MaxPoolingWithArgmax2D",
       pool_options(kSame, 2, 2)},
      {"MaxUnpooling",
       TfliteOp::CUSTOM,
       {pooled, {{1, 1, 2, 1}, {1.1F, 2.1F}}},
       {{{1, 2, 4, 1}, {0, 6, 0, 0, 0, 0, 5, 0}}},
       {},
       "MaxUnpooling2D",
       pool_options(kSame, 2, 2)},
      {"MaxUnpoolingIntoGaps",
       TfliteOp::CUSTOM,
       {pooled, counts({1, 1, 2, 1}, {3, 9})},
       {{{1, 2, 5, 1}, {0, 0, 0, 6, 0, 0, 0, 0, 0, 5}}},
       {},
       "LiteRtMaxUnpooling2D",
       pool_options(kValid, 3, 2)},
      {"TransposedConvolutionWithBias",
       TfliteOp::CUSTOM,
       {pooled, constant({1, 1, 2, 1}, {1, 10}), constant({1}, {100})},
       {{{1, 1, 4, 1}, {106, 160, 105, 150}}},
       {},
       "Convolution2DTransposeBias",
       tflite_data<std::int32_t>({kValid, 2, 1})},
  };
}

class TfliteDetectionRule : public testing::TestWithParam<RuleCase> {};
TEST_P(TfliteDetectionRule, GivesItsNumbers) { expect_numbers(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Suppression, TfliteDetectionRule, testing::ValuesIn(suppression_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Detection, TfliteDetectionRule, testing::ValuesIn(detection_cases()),
                         name_of_rule);
INSTANTIATE_TEST_SUITE_P(Custom, TfliteDetectionRule, testing::ValuesIn(custom_cases()),
                         name_of_rule);

/// Options of any bytes are refused, not read beyond their end.
TEST(TfliteCustomOptions, AreChecked) {
  std::vector<RuleCase> cases = custom_cases();
  for (RuleCase& c : detection_cases()) cases.push_back(std::move(c));
  for (RuleCase& c : cases) {
    const std::string whole = c.custom_options;
    for (std::size_t size = 0; size <= whole.size(); size += 3) {
      for (const char filler : {'\0', '\x7f', '\xff'}) {
        c.custom_options = whole.substr(0, size) + std::string(whole.size() - size, filler);
        if (filler == '\0') c.custom_options.resize(size);
        const std::string bytes = tflite_bytes(file_of(c));
        (void)Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
      }
    }
  }
  for (RuleCase& c : cases) {
    c.custom_options = "no";
    const std::string bytes = tflite_bytes(file_of(c));
    const auto model = Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
    ASSERT_FALSE(model) << c.name;
    EXPECT_THAT(model.error().message, testing::HasSubstr("options are wrong")) << c.name;
  }
}

}  // namespace
}  // namespace parallax::tflite_rule
