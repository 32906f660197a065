// keep_reduced_axes and split_batches: what they rewrite, and what they leave alone.
#include "simplify/passes_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

struct ShapeCase {
  const char* name;
  const char* text;
  const char* after;  ///< operators and outputs, without Reshapes that do nothing
};
void PrintTo(const ShapeCase& c, std::ostream* to) { *to << c.name; }

/// The pass, and the one that removes the Reshapes which do nothing then.
template <Result<int> (*kPass)(Graph&, const PassContext&)>
Result<int> and_clean(Graph& graph, const PassContext& context) {
  auto changes = kPass(graph, context);
  if (!changes || *changes == 0) return changes;
  const auto removed = remove_no_ops(graph, context);
  if (!removed) return removed;
  return *changes + *removed;
}

class KeepReducedAxes : public testing::TestWithParam<ShapeCase> {};
TEST_P(KeepReducedAxes, Rewrites) {
  expect_rewrite(GetParam().text, and_clean<keep_reduced_axes>, parallax::left_of,
                 GetParam().after);
}

constexpr ShapeCase kReduced[] = {
    {"Mean", R"(
    input x f32 [1, 8, 4]
    const axes i64 [2] = [0, 2]
    const shape i64 [3] = [1, 8, 1]
    m = ReduceMean(x, axes) {keepdims = 0}
    r = Reshape(m, shape)
    y = Sub(x, r)
    output y
)",
     "ReduceMean Sub -> y"},
    {"ArithmeticOfTwo", R"(
    input x f32 [8, 4]
    const axes i64 [1] = [1]
    const shape i64 [2] = [8, 1]
    const half f32 [] = [0.5]
    m = ReduceMean(x, axes) {keepdims = 0}
    s = ReduceMax(x, axes) {keepdims = 0}
    h = Mul(s, half)
    d = Sub(m, h)
    r = Reshape(d, shape)
    q = Reshape(m, shape)
    y = Sub(x, r)
    z = Sub(y, q)
    output z
)",
     "ReduceMean ReduceMax Mul Sub Sub Sub -> z"},
    {"NotIfAnOutputHasNoAxes", R"(
    input x f32 [8, 4]
    const axes i64 [1] = [1]
    const shape i64 [2] = [8, 1]
    m = ReduceMean(x, axes) {keepdims = 0}
    r = Reshape(m, shape)
    y = Sub(x, r)
    output y, m
)",
     "ReduceMean Reshape Sub -> y m"},
    {"NotIfTheAxesAreOthers", R"(
    input x f32 [8, 4]
    const axes i64 [1] = [1]
    const shape i64 [2] = [1, 8]
    m = ReduceMean(x, axes) {keepdims = 0}
    r = Reshape(m, shape)
    output r
)",
     "ReduceMean Reshape -> r"},
    {"NotIfSomethingElseReads", R"(
    input x f32 [8, 4]
    input w f32 [8]
    const axes i64 [1] = [1]
    const shape i64 [2] = [8, 1]
    m = ReduceMean(x, axes) {keepdims = 0}
    a = Add(m, w)
    r = Reshape(m, shape)
    output r, a
)",
     "ReduceMean Add Reshape -> r a"},
};

class SplitBatches : public testing::TestWithParam<ShapeCase> {};
TEST_P(SplitBatches, Rewrites) {
  expect_rewrite(GetParam().text, and_clean<split_batches>, parallax::left_of, GetParam().after);
}

constexpr ShapeCase kMerged[] = {
    {"Attention", R"(
    input q f32 [2, 3, 5, 4]
    input k f32 [2, 3, 4, 5]
    input v f32 [2, 3, 5, 4]
    const merged i64 [3] = [6, 5, 4]
    const columns i64 [3] = [6, 4, 5]
    const apart i64 [4] = [2, 3, 5, 4]
    const scale f32 [] = [0.5]
    a = Reshape(q, merged)
    b = Reshape(k, columns)
    c = Reshape(v, merged)
    s = MatMul(a, b)
    t = Mul(s, scale)
    w = Softmax(t) {axis = 2}
    m = MatMul(w, c)
    y = Reshape(m, apart)
    output y
)",
     "MatMul Mul Softmax MatMul -> y"},
    {"MaskWithTheAxes", R"(
    input q f32 [1, 3, 5, 4]
    input k f32 [1, 3, 4, 5]
    input mask f32 [1, 1, 5, 5]
    const merged i64 [3] = [3, 5, 4]
    const columns i64 [3] = [3, 4, 5]
    a = Reshape(q, merged)
    b = Reshape(k, columns)
    s = MatMul(a, b)
    y = Add(s, mask)
    output y
)",
     "MatMul Add -> y"},
    {"NotIfTheResultStaysMerged", R"(
    input q f32 [2, 3, 5, 4]
    input k f32 [2, 3, 4, 5]
    const merged i64 [3] = [6, 5, 4]
    const columns i64 [3] = [6, 4, 5]
    a = Reshape(q, merged)
    b = Reshape(k, columns)
    s = MatMul(a, b)
    output s
)",
     "Reshape Reshape MatMul -> s"},
    {"AnOperandThatWasNeverApart", R"(
    input q f32 [2, 3, 5, 4]
    input k f32 [6, 4, 5]
    const merged i64 [3] = [6, 5, 4]
    const apart i64 [4] = [2, 3, 5, 5]
    a = Reshape(q, merged)
    s = MatMul(a, k)
    y = Reshape(s, apart)
    output y
)",
     "Reshape MatMul -> y"},
    {"OperandsOfSeveralProducts", R"(
    input q f32 [6, 5, 4]
    input k f32 [2, 3, 4, 5]
    input v f32 [6, 5, 4]
    input m f32 [2, 1, 1, 5]
    const columns i64 [3] = [6, 4, 5]
    const apart i64 [4] = [2, 3, 5, -1]
    const together i64 [3] = [6, 5, 5]
    b = Reshape(k, columns)
    s = MatMul(q, b)
    t = Reshape(s, apart)
    u = Add(t, m)
    w = Softmax(u) {axis = 3}
    x = Reshape(w, together)
    z = MatMul(x, v)
    y = Reshape(z, apart)
    output y
)",
     "Reshape MatMul Add Softmax Reshape MatMul -> y"},
    {"NotIfSizesAreOpen", R"(
    symbols n t
    input q f32 [2, 3, n, t]
    input k f32 [6, t, n]
    const merged i64 [3] = [6, 5, 4]
    const axes i64 [4] = [2, 3, 5, 5]
    const six i64 [1] = [6]
    const two i64 [2] = [2, 3]
    d = Shape(q) {start = 2}
    e = Concat(six, d) {axis = 0}
    a = Reshape(q, e)
    s = MatMul(a, k)
    f = Shape(q) {start = 2, end = 3}
    g = Concat(two, f, f) {axis = 0}
    y = Reshape(s, g)
    output y
)",
     "Shape Concat Reshape MatMul Shape Concat Reshape -> y"},
    {"AnOperandWithOtherAxes", R"(
    input q f32 [2, 3, 5, 4]
    input k f32 [3, 2, 4, 5]
    const merged i64 [3] = [6, 5, 4]
    const columns i64 [3] = [6, 4, 5]
    const apart i64 [4] = [2, 3, 5, 5]
    a = Reshape(q, merged)
    b = Reshape(k, columns)
    s = MatMul(a, b)
    y = Reshape(s, apart)
    output y
)",
     "Reshape Reshape MatMul -> y"},
};

std::string name_of_shape_case(const testing::TestParamInfo<ShapeCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Forms, KeepReducedAxes, testing::ValuesIn(kReduced), name_of_shape_case);
INSTANTIATE_TEST_SUITE_P(Forms, SplitBatches, testing::ValuesIn(kMerged), name_of_shape_case);

}  // namespace
}  // namespace parallax
