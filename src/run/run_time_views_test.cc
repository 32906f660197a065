// Views whose shapes only a run determines, of tensors from every source, as outputs of a graph or
// a body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <regex>
#include <string>

#include "run/run_test_util.h"

namespace parallax {
namespace {

/// Nodes that make `p`, of 12 elements, from x f32 [2, 6]; `found` has a length that only a run
/// determines: 2.
constexpr std::array kProducers = {
    "p = Identity(x)",
    "const k f32 [2, 6] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\np = Identity(k)",
    "p = Neg(x)",
    "p = Add(x, x)",
    "q = Exp(x)\np = Neg(q)",
    "p = Transpose(x) {perm = [1, 0]}",
    "p = Softmax(x)",
    "const w f32 [6, 6] = [1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, "
    "3, 3, 3, 3, 3, 3, 0, 1, 0, 1, 0, 1]\np = MatMul(x, w)",
    "y = Concat(x, x) {axis = 0}\np, o = Split(y) {axis = 0}",
    "y = Concat(x, x) {axis = 1}\no, p = Split(y) {axis = 1}",
    "const i i64 [2] = [1, 0]\np = Gather(x, i)",
    "y = Concat(x, x) {axis = 0}\nconst a i64 [1] = [1]\nconst b i64 [1] = [3]\np = Slice(y, a, b)",
    "const a i64 [1] = [0]\ny = ReduceSum(x, a)\nconst d i64 [2] = [2, 6]\np = Expand(y, d)",
    "const d i64 [3] = [3, 2, 2]\np = Reshape(x, d)",
    "const d i64 [1] = [12]\ny = Neg(x)\np = Reshape(y, d)",
    // With sizes that only a run determines:
    "p = Reshape(x, s)",
    "y = Neg(x)\ny2 = Reshape(y, s)\np = Exp(y2)",
    "const z i64 [1] = [0]\nf = NonZero(g)\nfound = Squeeze(f, z)\np = Gather(x, found)",
};

/// Nodes that make `r`, with the elements of `p`; the values of `s` are the shape of `r`, or of the
/// tensor that `r` is made from.
constexpr std::array kViews = {
    "r = Reshape(p, s)",
    "v = Reshape(p, s)\nr = Identity(v)",
    "const ax i64 [1] = [1]\nv = Reshape(p, s)\nr = Unsqueeze(v, ax)",
    "const ax i64 [1] = [1]\nv = Reshape(p, s)\nu = Unsqueeze(v, ax)\nr = Squeeze(u, ax)",
    "v = Reshape(p, s)\nr = Flatten(v) {axis = 1}",
    "const fixed i64 [2] = [4, 3]\nv = Reshape(p, s)\nr = Reshape(v, fixed)",
    "v = Reshape(p, s)\nh = Shape(v)\nr = Expand(v, h)",
    "const from i64 [2] = [0, 0]\nv = Reshape(p, s)\nh = Shape(v)\nr = Slice(v, from, h)",
    "v = Reshape(p, s)\nu = Flatten(v) {axis = 0}\nr = Split(u) {axis = 0, num_outputs = 1}",
    "v = Reshape(p, s)\nn = Neg(v)\nr = Neg(n)",
};

struct Place {
  const char* name;
  /// The graph; @ stands for the nodes that make r.
  const char* graph;
  int copies;  ///< copies of r's elements in the output
};

constexpr std::array kPlaces = {
    Place{"output", "@\noutput r", 1},
    Place{"twice", "@\noutput r, r", 1},
    Place{"read as well", "@\nafter = Exp(r)\nmore = Exp(p)\noutput r, after, more", 1},
    Place{"after its producer", "@\noutput r, p", 1},
    Place{"If", R"(
        y = If(c; x, s, g)
        body
          input x f32 [2, 6]
          input s i64 [2]
          input g f32 [2]
          @
          output r
        end
        body
          input x f32 [2, 6]
          input s i64 [2]
          input g f32 [2]
          @
          output r
        end
        output y)",
          1},
    Place{"Loop", R"(
        y = Loop(m, _; x, s, g)
        body
          input trip i64 []
          input go bool []
          input x f32 [2, 6]
          input s i64 [2]
          input g f32 [2]
          @
          output go, r
        end
        output y)",
          3},
    Place{"Scan", R"(
        xs = Concat(x3, x3, x3) {axis = 0}
        y = Scan(xs; s, g) {num_scan_inputs = 1}
        body
          input x f32 [2, 6]
          input s i64 [2]
          input g f32 [2]
          @
          output r
        end
        output y)",
          3},
};

constexpr const char* kInputs = R"(
    input x f32 [2, 6]
    input s i64 [2]
    input g f32 [2]
    input c bool []
    input m i64 []
    input x3 f32 [1, 2, 6]
)";

Inputs inputs(std::vector<std::int64_t> shape, bool yes) {
  const std::vector<float> x = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
  return {bytes_of(x),
          bytes_of(shape),
          bytes_of<float>({1, 1}),
          yes ? kYes : kNo,
          bytes_of<std::int64_t>({3}),
          bytes_of(x)};
}

TEST(RunTimeViews, HaveTheElementsOfWhatTheyView) {
  for (const std::string producer : kProducers) {
    const auto plain = context_of(kInputs + producer + "\noutput p");
    const auto expected = run(plain, inputs({3, 4}, true));
    ASSERT_TRUE(expected) << producer << ": " << expected.error().to_string();
    for (const std::string view : kViews) {
      for (const Place& place : kPlaces) {
        const std::string text =
            kInputs + std::regex_replace(place.graph, std::regex("@"), producer + "\n" + view);
        SCOPED_TRACE(text);
        const auto context = context_of(text);
        std::vector<float> elements;
        for (int i = 0; i < place.copies; ++i) {
          const auto once = floats((*expected)[0]);
          elements.insert(elements.end(), once.begin(), once.end());
        }
        for (const int threads : {1, 3}) {
          for (const std::vector<std::int64_t>& shape :
               {std::vector<std::int64_t>{3, 4}, std::vector<std::int64_t>{2, 6}}) {
            const auto out = run(context, inputs(shape, threads == 1),
                                 {.reference_only = threads == 1, .threads = threads});
            ASSERT_TRUE(out) << out.error().to_string();
            const auto got = floats((*out)[0]);
            ASSERT_EQ(got.size(), elements.size());
            for (std::size_t i = 0; i < got.size(); ++i)
              EXPECT_NEAR(got[i], elements[i], 1e-4 * std::abs(elements[i])) << i;
          }
        }
      }
    }
  }
}

/// A value that a Loop returns in another shape, without a copy, keeps that shape in the next trip.
TEST(RunTimeViews, ACarriedValueMayChangeItsShape) {
  const auto context = context_of(R"(
      input m i64 []
      input x f32 [2, 6]
      input s i64 [2]
      y, shapes = Loop(m, _, x; s)
      body
        input i i64 []
        input go bool []
        input v f32 [2, 6]
        input s i64 [2]
        h = Shape(v)
        one = Identity(h)
        r = Reshape(v, s)
        output go, r, one
      end
      output y, shapes)");
  const Inputs all = inputs({3, 4}, true);
  const auto out = run(context, {bytes_of<std::int64_t>({2}), all[0], all[1]});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ((*out)[0].dims(), (Dims{3, 4}));
  EXPECT_EQ((*out)[0].view().bytes.size(), all[0].size());
  EXPECT_THAT(values<std::int64_t>((*out)[1]), testing::ElementsAre(2, 6, 3, 4));
}

}  // namespace
}  // namespace parallax
