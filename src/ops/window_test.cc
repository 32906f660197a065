#include "ops/infer_testing.h"

namespace parallax {
namespace {

std::string conv(std::string_view x, std::string_view w, std::string_view attributes = "{}") {
  return "input x f32 " + std::string(x) + "\nconst w f32 " + std::string(w) +
         " = fill 1\ny = Conv(x, w) " + std::string(attributes) + "\noutput y";
}

/// A convolution with the result [b, 16, 6, 6] to which `r` is added.
std::string added(std::string_view r) {
  return "input x f32 [b, 3, 8, 8]\ninput r f32 " + std::string(r) +
         "\nconst w f32 [16, 3, 3, 3] = fill 1\ny = Conv(x, w, _, r)\noutput y";
}

std::string pool(std::string_view op, std::string_view x, std::string_view attributes) {
  return "input x f32 " + std::string(x) + "\ny = " + std::string(op) + "(x) " +
         std::string(attributes) + "\noutput y";
}

struct Row {
  std::string graph, expected;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(inferred(row.graph), row.expected) << row.graph;
}

void check_errors(const std::vector<Row>& rows) {
  for (const Row& row : rows) check_refusals({{row.graph, row.expected}});
}

TEST(ConvTest, Shapes) {
  check({
      {conv("[b, 3, 8, 8]", "[16, 3, 3, 3]"), "float32 bx16x6x6"},
      {conv("[b, 3, 8, 8]", "[16, 3, 3, 3]", "{pads = [1, 1, 1, 1], strides = [2, 2]}"),
       "float32 bx16x4x4"},
      {conv("[1, 8, 9]", "[8, 1, 3]", "{group = 8, dilations = [2]}"), "float32 1x8x5"},
      {conv("[1, 1, 4, 5, 6]", "[2, 1, 1, 2, 3]"), "float32 1x2x4x4x4"},
      {conv("[1, 3, 7, 7]", "[4, 3, 3, 3]", "{auto_pad = \"SAME_UPPER\", strides = [2, 2]}"),
       "float32 1x4x4x4"},
      {conv("[1, 3, 7, 7]", "[4, 3, 3, 3]", "{auto_pad = \"VALID\", strides = [2, 2]}"),
       "float32 1x4x3x3"},
      {conv("[b, 3, h, w]", "[4, 3, 3, 3]", "{pads = [1, 1, 1, 1], strides = [2, 1]}"),
       "float32 bx4xfloor_div(h + 1, 2)xw"},
      {conv("[b, 3, 32*h, w]", "[4, 3, 3, 3]", "{pads = [1, 1, 1, 1], strides = [2, 1]}"),
       "float32 bx4x16*hxw"},
      {conv("[b, 8, 8, 3]", "[16, 3, 3, 3]", "{layout = \"NHWC\"} then Silu"), "float32 bx6x6x16"},
      {conv("[0, 3, 8, 8]", "[16, 3, 3, 3]", "{kernel_shape = [3, 3]}"), "float32 0x16x6x6"},
      {added("[b, 16, 6, 6]"), "float32 bx16x6x6"},
  });
}

TEST(ConvTest, Refusals) {
  check_errors({
      {conv("[b, 3, 8, 8]", "[16, 4, 3, 3]"), "do not match the channels"},
      {conv("[b, 3, 8, 8]", "[16, 3, 3]"), "input 1 must have rank 4"},
      {conv("[3, 8]", "[3, 8]"), "rank 3 or more"},
      {conv("[b, 4, 8, 8]", "[6, 1, 3, 3]", "{group = 4}"), "not a multiple of group"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{group = 0}"), "group 0"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{group = -1}"), "group -1"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{group = 9223372036854775807}"), "channels"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{strides = [0, 1]}"), "strides has an element 0"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{strides = [1]}"), "strides must have 2"},
      {added("[b, 16, 6, 1]"), "the residual must have the shape of the result"},
      {added("[6, 6]"), "the residual must have the shape of the result"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{dilations = [1, -1]}"), "dilations"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{dilations = [1, 5]}"), "does not fit"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{pads = [-1, 0, 0, 0]}"), "pads"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{pads = [9223372036854775807, 0, 0, 0]}"), "pads"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{kernel_shape = [3, 4]}"), "differs"},
      {conv("[b, 4, 8, 8]", "[6, 4, 0, 3]"), "window of 0"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{auto_pad = \"SAME\"}"), "'SAME'"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{auto_pad = \"VALID\", pads = [0, 0, 1, 0]}"),
       "contradict"},
      {conv("[b, 4, 8, 8]", "[6, 4, 3, 3]", "{layout = \"NCWH\"}"), "'NCWH'"},
      {"input x f32 [b, 4, 8, 8]\nconst w f32 [6, 4, 3, 3] = fill 1\nconst c f32 [5] = fill 1\n"
       "y = Conv(x, w, c)\noutput y",
       "bias"},
      {"input x i8 [b, 4, 8, 8]\nconst w i8 [6, 4, 3, 3] = fill 1\ny = Conv(x, w)\noutput y",
       "may not be int8"},
  });
}

std::string transposed(std::string_view x, std::string_view w, std::string_view attributes = "{}") {
  return "input x f32 " + std::string(x) + "\nconst w f32 " + std::string(w) +
         " = fill 1\ny = ConvTranspose(x, w) " + std::string(attributes) + "\noutput y";
}

TEST(ConvTransposeTest, Shapes) {
  check({
      {transposed("[b, 3, h, 8]", "[3, 16, 2, 2]", "{strides = [2, 2]}"), "float32 bx16x2*hx16"},
      {transposed("[1, 4, 5]", "[4, 3, 3]",
                  "{group = 2, dilations = [2], pads = [1, 2], output_padding = [1]}"),
       "float32 1x6x7"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{output_shape = [9], strides = [2]}"),
       "float32 1x3x9"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{output_shape = [1, 3, 9], strides = [2]}"),
       "float32 1x3x9"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{auto_pad = \"SAME_LOWER\", strides = [3]}"),
       "float32 1x3x15"},
      {transposed("[b, 2, 3, 4]", "[4, 3, 3, 3]", "{layout = \"NHWC\"} then Relu"),
       "float32 bx4x5x3"},
      {transposed("[1, 4, 0]", "[4, 3, 3]"), "float32 1x3x2"},
      {transposed("[1, 2, 2, 2, 2]", "[2, 1, 2, 2, 2]"), "float32 1x1x3x3x3"},
  });
}

TEST(ConvTransposeTest, Refusals) {
  check_errors({
      {transposed("[1, 4, 5]", "[3, 3, 3]"), "do not match the channels"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{group = 3}"), "do not match the channels"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{group = 0}"), "group 0"},
      {transposed("[1, 4, 5]", "[4, 3, 3, 3]"), "must have rank 3"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{pads = [9, 9]}"), "larger than spatial axis 0"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{output_padding = [-1]}"), "output_padding"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{output_shape = [-1]}"), "element -1"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{output_shape = [1, 2]}"), "must have 1 elements"},
      {transposed("[1, 4, 5]", "[4, 3, 3]", "{strides = [0]}"), "strides has an element 0"},
      {"input x f32 [b, 4, 8]\nconst w f32 [4, 6, 3] = fill 1\nconst c f32 [5] = fill 1\n"
       "y = ConvTranspose(x, w, c)\noutput y",
       "bias"},
  });
}

TEST(PoolTest, Shapes) {
  check({
      {pool("MaxPool", "[b, 3, 8, 8]", "{kernel_shape = [5, 5], pads = [2, 2, 2, 2]}"),
       "float32 bx3x8x8"},
      {pool("MaxPool", "[b, 8, 8, 3]",
            "{kernel_shape = [2, 2], strides = [2, 2], layout = \"NHWC\"}"),
       "float32 bx4x4x3"},
      // 5 positions of stride 2 reach the end of 9 padded elements; the partial fifth counts.
      {pool("AveragePool", "[1, 1, 8]", "{kernel_shape = [3], strides = [2], ceil_mode = 1}"),
       "float32 1x1x4"},
      // The last window would start in the trailing padding: it does not count.
      {pool("MaxPool", "[1, 1, 4]",
            "{kernel_shape = [2], strides = [2], pads = [1, 1], ceil_mode = 1}"),
       "float32 1x1x3"},
      {pool("MaxPool", "[1, 1, 2]",
            "{kernel_shape = [1], strides = [3], pads = [0, 0], ceil_mode = 1}"),
       "float32 1x1x1"},
      {pool("MaxPool", "[1, 1, 8]", "{kernel_shape = [3], dilations = [2]}"), "float32 1x1x4"},
      {pool(
           "AveragePool", "[1, 1, 7]",
           "{kernel_shape = [3], strides = [2], auto_pad = \"SAME_LOWER\", count_include_pad = 1}"),
       "float32 1x1x4"},
      // The standard's formula gives 0 where a window lacks no more than a stride.
      {pool("MaxPool", "[1, 1, 8]", "{kernel_shape = [9]}"), "float32 1x1x0"},
      {pool("MaxPool", "[1, 1, 0]", "{kernel_shape = [1]}"), "float32 1x1x0"},
      {pool("AveragePool", "[1, 1, 2]", "{kernel_shape = [3], strides = [2]}"), "float32 1x1x0"},
      {pool("AveragePool", "[1, 1, 0]", "{kernel_shape = [1], ceil_mode = 1}"), "float32 1x1x0"},
      {pool("AveragePool", "[1, 1, 2]", "{kernel_shape = [3], strides = [2], ceil_mode = 1}"),
       "float32 1x1x1"},
      {pool("GlobalAveragePool", "[b, 3, h, w]", "{}"), "float32 bx3x1x1"},
      {pool("GlobalMaxPool", "[b, 3, h]", "{}"), "float32 bx3x1"},
      {pool("GlobalLpPool", "[b, h, w, 3]", "{p = 1, layout = \"NHWC\"}"), "float32 bx1x1x3"},
      {pool("LpPool", "[1, 1, 8]", "{kernel_shape = [3], dilations = [2], p = 3}"),
       "float32 1x1x4"},
      {pool("GlobalAveragePool", "[b, h, w, 3]", "{layout = \"NHWC\"}"), "float32 bx1x1x3"},
      {"input x i8 [1, 1, 4, 4]\ny, i = MaxPool(x) {kernel_shape = [2, 2]}\noutput y, i",
       "int8 1x1x3x3; int64 1x1x3x3"},
  });
}

TEST(PoolTest, Refusals) {
  check_errors({
      {pool("MaxPool", "[b, 3, 8, 8]", "{}"), "kernel_shape must have 2"},
      {pool("LpPool", "[b, 3, 8]", "{kernel_shape = [2], p = 0}"), "p must be positive, is 0"},
      {pool("GlobalLpPool", "[b, 3, 8]", "{p = -1}"), "p must be positive"},
      {pool("MaxPool", "[b, 3, 8, 8]", "{kernel_shape = [0, 1]}"), "window of 0"},
      {pool("MaxPool", "[b, 3, 8, 8]", "{kernel_shape = [10, 1]}"), "does not fit"},
      {pool("MaxPool", "[b, 3, 0]", "{kernel_shape = [2]}"), "does not fit"},
      {pool("AveragePool", "[b, 3, 2]", "{kernel_shape = [5], strides = [2]}"), "does not fit"},
      {pool("MaxPool", "[b, 3, 8]", "{kernel_shape = [9223372036854775807]}"), "a window of"},
      {pool("MaxPool", "[b, 3, 8]", "{kernel_shape = [2], pads = [2, 0]}"), "padding alone"},
      {pool("MaxPool", "[b, 3, 8]", "{kernel_shape = [2], ceil_mode = 2}"), "0 or 1"},
      {pool("MaxPool", "[b, 3]", "{kernel_shape = [2]}"), "rank 3 or more"},
      {"input x i64 [b, 3, 8]\ny = MaxPool(x) {kernel_shape = [2]}\noutput y", "may not be int64"},
      {"input x u8 [b, 3, 8]\ny = AveragePool(x) {kernel_shape = [2]}\noutput y",
       "may not be uint8"},
  });
}

}  // namespace
}  // namespace parallax
