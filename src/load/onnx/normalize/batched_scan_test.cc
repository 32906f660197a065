#include "load/onnx/normalize/batched_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// A Scan of two samples, the sums of three pairs each; `captured` is read by its body, which has
/// the graph's names.
std::string file(const Names& inputs, const Names& outputs, const Names& attributes,
                 const std::string& captured = "w", std::int64_t opset = 8) {
  const TestGraph body{
      {node("Add", {"h", "x"}, {"t"}), node("Add", {"t", captured}, {"sum"}),
       node("Identity", {"sum"}, {"all"})},
      {},
      {value_info("h", kOnnxFloat, {Dim(2)}), value_info("x", kOnnxFloat, {Dim(2)})},
      {value_info("sum", kOnnxFloat, {Dim(2)}), value_info("all", kOnnxFloat, {Dim(2)})}};
  Names all = attributes;
  all.push_back(graph_attribute("body", body.bytes()));
  all.push_back(attribute("num_scan_inputs", 1));
  return model({{node("Scan", inputs, outputs, all, "n")},
                {},
                {value_info("lengths", kOnnxInt64, {Dim("b")}),
                 value_info("first", kOnnxFloat, {Dim("b"), Dim(2)}),
                 value_info("x", kOnnxFloat, {Dim("b"), Dim(3), Dim(2)}),
                 value_info(captured, kOnnxFloat, {Dim(2)})},
                {value_info(outputs.back())}},
               opset);
}

TEST(BatchedScan, BecomesAScanOfScans) {
  const auto graph = load(file({"", "first", "x"}, {"sum", "all"}, {}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_TRUE(verify(*graph, Stage::kLoad));
  const std::string text = print(*graph);
  EXPECT_THAT(text, HasSubstr("sum: f32 [b, 2], all: f32 [b, 3, 2] = Scan(first, x; w) "
                              "{num_scan_inputs = 2} @n"));
  EXPECT_THAT(text, HasSubstr("sample_2: f32 [2], sample_3: f32 [3, 2] = "
                              "Scan(sample_0, sample_1; w) {num_scan_inputs = 1} @n"));
}

TEST(BatchedScan, KeepsDirectionsAndNamesOfTheFile) {
  const Names reversed = {attribute("directions", Ints{1})};
  // The body still reads what is outside, though values of the samples would have its name.
  const auto graph = load(file({"", "first", "x"}, {"", "all"}, reversed, "sample_0"));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_THAT(print(*graph), HasSubstr("Scan(sample_1, sample_2; sample_0) {num_scan_inputs = 1, "
                                       "scan_input_directions = [1]}"));
}

TEST(BatchedScan, RefusesWhatItCannotSay) {
  const auto lengths = load(file({"lengths", "first", "x"}, {"sum", "all"}, {}));
  ASSERT_FALSE(lengths);
  EXPECT_EQ(lengths.error().to_string(),
            "node 'n': Scan: sequence_lens of operator set 8 is not supported");
  const auto older = load(file({"", "first", "x"}, {"sum", "all"}, {}, "w", 7));
  ASSERT_FALSE(older);
  EXPECT_THAT(older.error().message, HasSubstr("Scan (ai.onnx opset 7) x1"));
  EXPECT_FALSE(load(file({}, {"sum", "all"}, {})));
  EXPECT_FALSE(load(file({""}, {"sum", "all"}, {})));
  EXPECT_FALSE(load(file({"", "x"}, {"sum", "all"}, {})));
}

}  // namespace
}  // namespace parallax
