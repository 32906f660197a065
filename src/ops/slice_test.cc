#include "ops/infer_testing.h"

#include <rapidcheck.h>

#include <algorithm>
#include <limits>

namespace parallax {
namespace {

std::string list(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string text =
      "symbolic " + std::string(name) + " i64 [" + std::to_string(values.size()) + "] = [";
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The text reads magnitudes up to INT64_MAX: the smallest number is a difference.
    const bool least = values[i] == std::numeric_limits<std::int64_t>::min();
    text += (i == 0 ? "" : ", ") + (least ? "-9223372036854775807 - 1" : std::to_string(values[i]));
  }
  return text + "]\n";
}

/// The output of slicing axis 0 of `x` by the three numbers.
std::string sliced(std::string_view x, std::int64_t start, std::int64_t end,
                   std::int64_t step = 1) {
  return inferred("input x f32 " + std::string(x) + "\n" + list("s", {start}) + list("e", {end}) +
                  list("a", {0}) + list("k", {step}) + "y = Slice(x, s, e, a, k)\noutput y");
}

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(SliceTest, KnownSizes) {
  EXPECT_EQ(sliced("[10]", 2, 5), "float32 3");
  EXPECT_EQ(sliced("[10]", 0, kMax), "float32 10");
  EXPECT_EQ(sliced("[10]", -3, kMax), "float32 3");
  EXPECT_EQ(sliced("[10]", kMin, -1), "float32 9");
  EXPECT_EQ(sliced("[10]", 5, 2), "float32 0");
  EXPECT_EQ(sliced("[10]", 20, 30), "float32 0");
  EXPECT_EQ(sliced("[10]", 0, 10, 3), "float32 4");
  EXPECT_EQ(sliced("[10]", -1, kMin, -1), "float32 10");
  EXPECT_EQ(sliced("[10]", kMax, kMin, -4), "float32 3");
  EXPECT_EQ(sliced("[10]", 7, 2, -2), "float32 3");
  EXPECT_EQ(sliced("[10]", -1, -11, kMin), "float32 1");
  EXPECT_EQ(sliced("[10]", 0, 10, kMax), "float32 1");
  EXPECT_EQ(sliced("[0]", -1, kMin, -1), "float32 0");
  EXPECT_EQ(sliced("[0]", 0, kMax), "float32 0");
}

TEST(SliceTest, SymbolicSizes) {
  EXPECT_EQ(sliced("[b]", 0, kMax), "float32 b");
  EXPECT_EQ(sliced("[b]", 0, 2147483647), "float32 b");
  EXPECT_EQ(sliced("[b + 3]", 0, -1), "float32 (b + 2)");
  EXPECT_EQ(sliced("[b + 3]", 1, kMax), "float32 (b + 2)");
  EXPECT_EQ(sliced("[b]", 1, kMax), "float32 max(0, b - 1)");
  EXPECT_EQ(sliced("[b]", 0, 4), "float32 min(4, b)");
  EXPECT_EQ(sliced("[b + 9]", 2, 5), "float32 3");
  EXPECT_EQ(sliced("[b + 9]", -4, -1), "float32 3");
  EXPECT_EQ(sliced("[2*b]", 0, kMax, 2), "float32 b");
  EXPECT_EQ(sliced("[b]", -1, kMin, -1), "float32 b");
}

/// Every concrete slice agrees with Python's, but for starts before the front when stepping
/// backwards, which ONNX moves to element 0.
TEST(SliceProperty, AgreesWithStepping) {
  EXPECT_TRUE(rc::check("counts", [] {
    const auto dim = *rc::gen::inRange<std::int64_t>(0, 12);
    const auto start = *rc::gen::inRange<std::int64_t>(-15, 15);
    const auto end = *rc::gen::inRange<std::int64_t>(-15, 15);
    auto step = *rc::gen::inRange<std::int64_t>(-4, 5);
    if (step == 0) step = 1;
    const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + dim : at, low, std::max(low, high));
    };
    std::int64_t count = 0;
    if (dim > 0 && step > 0) {
      for (auto i = place(start, 0, dim); i < place(end, 0, dim); i += step) ++count;
    } else if (dim > 0) {
      for (auto i = place(start, 0, dim - 1); i > place(end, -1, dim - 1); i += step) ++count;
    }
    RC_ASSERT(sliced("[" + std::to_string(dim) + "]", start, end, step) ==
              "float32 " + std::to_string(count));
  }));
}

/// The symbolic count, evaluated, is the concrete one.
TEST(SliceProperty, SymbolicAgreesWithConcrete) {
  EXPECT_TRUE(rc::check("counts", [] {
    const auto dim = *rc::gen::inRange<std::int64_t>(0, 12);
    const auto start =
        *rc::gen::elementOf(std::vector<std::int64_t>{kMin, -20, -3, -1, 0, 1, 5, 20, kMax});
    const auto end =
        *rc::gen::elementOf(std::vector<std::int64_t>{kMin, -20, -4, -1, 0, 2, 6, 20, kMax});
    const auto step = *rc::gen::elementOf(std::vector<std::int64_t>{-3, -1, 1, 2});
    const auto text = [&](std::string_view x) {
      return "symbols n\ninput x f32 [" + std::string(x) + "]\n" + list("s", {start}) +
             list("e", {end}) + list("a", {0}) + list("k", {step}) +
             "y = Slice(x, s, e, a, k)\noutput y";
    };
    auto symbolic = parse_graph(text("n"));
    auto concrete = parse_graph(text(std::to_string(dim)));
    RC_ASSERT(symbolic && concrete && infer_graph(*symbolic) && infer_graph(*concrete));
    const std::optional<std::int64_t> values[] = {dim};
    const auto& shape = symbolic->values[symbolic->outputs[0]].shape;
    const auto& wanted = concrete->values[concrete->outputs[0]].shape;
    RC_ASSERT(shape[0].evaluate(values) == wanted[0].constant());
  }));
}

TEST(SliceTest, AxesAndContent) {
  check_rows({
      {"input x f32 [b, 8, 6]\nconst f i64 [2] = [1, 2]\nconst t i64 [2] = [3, 9]\n"
       "const a i64 [2] = [-1, 1]\ny = Slice(x, f, t, a)\noutput y",
       "float32 bx6x2"},
      {"input x f32 [4, 8]\nconst f i32 [1] = [1]\nconst t i32 [1] = [3]\ny = Slice(x, f, t)\n"
       "output y",
       "float32 2x8"},
      {"symbolic x i64 [4] = [b, 3, h, w]\nconst f i64 [1] = [2]\nconst t i64 [1] = [4]\n"
       "y = Slice(x, f, t)\noutput y",
       "int64 2 = [h, w]"},
      {"symbolic x i64 [4] = [b, 3, h, w]\nconst f i64 [1] = [-1]\nconst t i64 [1] = [-9]\n"
       "const a i64 [1] = [0]\nconst k i64 [1] = [-2]\ny = Slice(x, f, t, a, k)\noutput y",
       "int64 2 = [w, 3]"},
      {"const x i64 [2, 3] = [1, 2, 3, 4, 5, 6]\nconst f i64 [1] = [1]\nconst t i64 [1] = [3]\n"
       "const a i64 [1] = [1]\ny = Slice(x, f, t, a)\noutput y",
       "int64 2x2 = [2, 3, 5, 6]"},
      // Bounds that are symbols, or computed while running.
      {"input x f32 [77, 8]\nsymbolic f i64 [1] = [0]\nsymbolic t i64 [1] = [s]\n"
       "y = Slice(x, f, t)\noutput y",
       "float32 min(77, s)x8"},
      {"input x f32 [b, 8]\ninput f i64 [1]\nconst t i64 [1] = [3]\nconst a i64 [1] = [1]\n"
       "y = Slice(x, f, t, a)\noutput y",
       "float32 bxSlice_0.0"},
      {"input x f32 [b, 8]\ninput f i64 [s]\nconst t i64 [1] = [3]\ny = Slice(x, f, t)\noutput y",
       "float32 Slice_0.0xSlice_0.1"},
  });
}

TEST(SplitTest, Shapes) {
  check_rows({
      {"input x f32 [b, 8]\ny, z = Split(x) {axis = 1}\noutput y, z", "float32 bx4; float32 bx4"},
      {"input x f32 [b, 7]\nu, v, w = Split(x) {axis = -1, num_outputs = 3}\noutput u, v, w",
       "float32 bx3; float32 bx3; float32 bx1"},
      {"input x f32 [3*b]\nu, v, w = Split(x) {num_outputs = 3}\noutput u, v, w",
       "float32 b; float32 b; float32 b"},
      {"input x f32 [b, 7]\nconst p i64 [2] = [3, 4]\ny, z = Split(x, p) {axis = 1}\noutput y, z",
       "float32 bx3; float32 bx4"},
      {"input x f32 [s]\nsymbolic p i64 [2] = [2, s - 2]\ny, z = Split(x, p)\noutput y, z",
       "float32 2; float32 (s - 2)"},
      {"input x f32 [b, 7]\ninput p i64 [2]\ny, z = Split(x, p) {axis = 1}\noutput y, z",
       "float32 bxSplit_0.0; float32 bxSplit_0.1"},
      {"input x f32 [b, 7]\nconst p i64 [2] = [0, 7]\n_, z = Split(x, p) {axis = 1}\noutput z",
       "float32 bx7"},
      {"symbolic x i64 [4] = [b, 3, h, w]\ny, z = Split(x)\noutput y, z",
       "int64 2 = [b, 3]; int64 2 = [h, w]"},
  });
}

TEST(SliceTest, Refusals) {
  const std::string bounds = "const f i64 [1] = [0]\nconst t i64 [1] = [2]\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {bounds + "input x f32 []\ny = Slice(x, f, t)\noutput y", "scalar"},
      {bounds + "input x f32 [3]\nconst k i64 [1] = [0]\nconst a i64 [1] = [0]\n"
                "y = Slice(x, f, t, a, k)\noutput y",
       "step is 0"},
      {bounds + "input x f32 [3]\nconst a i64 [1] = [1]\ny = Slice(x, f, t, a)\noutput y",
       "outside rank 1"},
      {bounds + "input x f32 [3]\nconst a i64 [2] = [0, 1]\ny = Slice(x, f, t, a)\noutput y",
       "one length"},
      {bounds + "input x f32 [3]\nconst g f32 [1] = [0]\ny = Slice(x, g, t)\noutput y",
       "may not be float32"},
      {"input x f32 [3]\nconst f i64 [2] = [0, 0]\nconst a i64 [2] = [0, -1]\n"
       "y = Slice(x, f, f, a)\noutput y",
       "twice"},
      {"input x f32 [7]\ny, z = Split(x)\noutput y", "equal parts"},
      {"input x f32 [7]\ny, z = Split(x) {num_outputs = 3}\noutput y", "num_outputs is 3"},
      {"input x f32 [2]\nu, v, w, k = Split(x) {num_outputs = 4}\noutput u", "negative size"},
      {"input x f32 [7]\nconst p i64 [2] = [3, 3]\ny, z = Split(x, p)\noutput y", "add up"},
      {"input x u8 [7]\nconst p i64 [2] = fill 9223372036854775807\ny, z = Split(x, p)\noutput y",
       "add up"},
      {"input x f32 [7]\nconst p i64 [2] = [8, -1]\ny, z = Split(x, p)\noutput y", "negative"},
      {"input x f32 [7]\nconst p i64 [3] = [3, 3, 1]\ny, z = Split(x, p)\noutput y", "2 outputs"},
      {"input x f32 [7]\nconst p i64 [2] = [3, 4]\ny, z = Split(x, p) {num_outputs = 2}\noutput y",
       "both"},
      {"input x f32 []\ny = Split(x)\noutput y", "outside rank 0"},
  };
  for (const auto& [graph, expected] : rows) check_refusals({{graph, expected}});
}

}  // namespace
}  // namespace parallax
