// Kernels on objects, alone: values worked out by hand, and what they refuse.
#include "kernels/objects/object_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Memory that ends.
class LimitedMemory final : public ObjectMemory {
 public:
  explicit LimitedMemory(std::int64_t bytes) : left_(bytes) {}
  Result<std::shared_ptr<const void>> take(std::int64_t bytes) override {
    if (bytes > left_)
      return tl::unexpected(Error{Stage::kRun, ErrorCode::kBudgetExceeded, "", "no memory"});
    left_ -= bytes;
    return std::shared_ptr<const void>(nullptr, [this, bytes](const void*) { left_ += bytes; });
  }
  std::int64_t left() const { return left_; }

 private:
  std::int64_t left_;
};

template <class T>
Object tensor(DType dtype, const Dims& dims, std::initializer_list<T> list) {
  Tensor result = *Tensor::allocate(dtype, dims);
  std::ranges::copy(list, result.mutable_view().as<T>());
  return Object::tensor(std::move(result));
}
Object ints(const Dims& dims, std::initializer_list<std::int64_t> list) {
  return tensor<std::int64_t>(DType::kI64, dims, list);
}
Object number(std::int64_t x) { return ints({}, {x}); }
Object floats(const Dims& dims, std::initializer_list<float> list) {
  return tensor<float>(DType::kF32, dims, list);
}
Object texts(const Dims& dims, std::vector<std::string> list) {
  return *Object::strings(dims, std::move(list));
}

/// "[1, 2]f32 2": what an object holds.
std::string text_of(const Object& object) {
  std::string text = "[";
  const auto add = [&](const std::string& one) { text += (text == "[" ? "" : ", ") + one; };
  for (const Object& element : object.elements()) add(text_of(element));
  for (const std::string& one : object.strings()) add("'" + one + "'");
  if (object.type() == ObjectType::kTensor && object.dtype() != DType::kString) {
    const TensorView view = object.tensor_view();
    for (std::int64_t i = 0; i < view.dims.elements(); ++i) {
      if (view.dtype == DType::kI64) add(std::to_string(view.as<std::int64_t>()[i]));
      if (view.dtype == DType::kBool) add(view.as<bool>()[i] ? "true" : "false");
      if (view.dtype == DType::kF32) add(std::to_string(view.as<float>()[i]).substr(0, 4));
    }
  }
  text += "]";
  return object.type() == ObjectType::kTensor ? text + object.dims().to_string() : text;
}

/// Runs the only node of a graph with `inputs`, the inputs of the graph, and returns its outputs.
Result<std::vector<Object>> run(const std::string& text, const std::vector<Object>& inputs,
                                ObjectMemory& memory) {
  auto graph = parse_graph(text);
  if (!graph) return tl::unexpected(graph.error());
  if (auto status = infer_graph(*graph); !status) return tl::unexpected(status.error());
  const Node& node = graph->nodes[NodeId{0}];
  std::vector<std::optional<Object>> given;
  std::size_t next = 0;
  for (const ValueId id : node.inputs)
    given.push_back(id.valid() ? std::optional(inputs.at(next++)) : std::nullopt);
  std::vector<DType> types;
  for (const ValueId id : node.outputs) types.push_back(graph->values[id].dtype);
  std::vector<Object> outputs(node.outputs.size());
  const ObjectKernel kernel = object_kernel(node.op);
  if (kernel == nullptr)
    return tl::unexpected(Error{Stage::kRun, ErrorCode::kInternal, "", "no kernel"});
  if (auto status = kernel({node, given, types, memory, outputs}); !status)
    return tl::unexpected(status.error());
  return outputs;
}

std::string run_text(const std::string& text, const std::vector<Object>& inputs) {
  LimitedMemory memory(std::int64_t{1} << 30);
  std::string result;
  {
    const auto outputs = run(text, inputs, memory);
    if (!outputs) return outputs.error().message;
    for (const Object& output : *outputs) result += (result.empty() ? "" : "; ") + text_of(output);
  }
  EXPECT_EQ(memory.left(), std::int64_t{1} << 30) << text;
  return result;
}

struct ObjectCase {
  std::string graph;
  std::vector<Object> inputs;
  const char* expected;
};
void check(const std::vector<ObjectCase>& cases) {
  for (const ObjectCase& one : cases)
    EXPECT_EQ(run_text(one.graph, one.inputs), one.expected) << one.graph;
}
void check_errors(const std::vector<ObjectCase>& cases) {
  for (const ObjectCase& one : cases)
    EXPECT_THAT(run_text(one.graph, one.inputs), HasSubstr(one.expected)) << one.graph;
}

const std::string kSequenceInput = "input s sequence f32 [1]\ninput p i64 []\n";
Object three() { return Object::sequence({floats({1}, {1}), floats({1}, {2}), floats({1}, {3})}); }

TEST(ObjectKernels, Sequences) {
  check({
      {kSequenceInput + "y = SequenceAt(s, p)\noutput y", {three(), number(-3)}, "[1.00]1"},
      {kSequenceInput + "y = SequenceErase(s, p)\noutput y",
       {three(), number(1)},
       "[[1.00]1, [3.00]1]"},
      {"input s sequence f32 [1]\ny = SequenceErase(s)\noutput y", {three()}, "[[1.00]1, [2.00]1]"},
      {"input s sequence f32 [1]\ninput x f32 [1]\ninput p i64 []\ny = SequenceInsert(s, x, "
       "p)\noutput y",
       {three(), floats({1}, {9}), number(3)},
       "[[1.00]1, [2.00]1, [3.00]1, [9.00]1]"},
      {"input s sequence f32 [1]\ny = SequenceLength(s)\noutput y", {three()}, "[3]scalar"},
      {"y = SequenceEmpty()\noutput y", {}, "[]"},
      {"input x f32 [3, 2]\ninput n i64 []\ny = SplitToSequence(x, n)\noutput y",
       {floats({3, 2}, {1, 2, 3, 4, 5, 6}), number(2)},
       "[[1.00, 2.00, 3.00, 4.00]2x2, [5.00, 6.00]1x2]"},
      {"input x f32 [2, 2]\ny = SplitToSequence(x) {axis = 1, keepdims = 0}\noutput y",
       {floats({2, 2}, {1, 2, 3, 4})},
       "[[1.00, 3.00]2, [2.00, 4.00]2]"},
      {"input x string [3]\ninput n i64 [2]\ny = SplitToSequence(x, n)\noutput y",
       {texts({3}, {"a", "b", "c"}), ints({2}, {0, 3})},
       "[[]0, ['a', 'b', 'c']3]"},
      {"input s sequence f32 [1]\ny = ConcatFromSequence(s) {axis = 0}\noutput y",
       {three()},
       "[1.00, 2.00, 3.00]3"},
      {"input s sequence f32 [1]\ny = ConcatFromSequence(s) {axis = -1, new_axis = 1}\noutput y",
       {three()},
       "[1.00, 2.00, 3.00]1x3"},
  });
}

TEST(ObjectKernels, SequencesReadBeyondTheirEnds) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  check_errors({
      {kSequenceInput + "y = SequenceAt(s, p)\noutput y",
       {three(), number(3)},
       "position 3 in a sequence of 3"},
      {kSequenceInput + "y = SequenceAt(s, p)\noutput y", {three(), number(kMin)}, "position -92"},
      {kSequenceInput + "y = SequenceErase(s, p)\noutput y", {three(), number(-4)}, "position -4"},
      {"input s sequence f32 [1]\ny = SequenceErase(s)\noutput y",
       {Object::sequence({})},
       "the sequence is empty"},
      {"input s sequence f32 [1]\ny = ConcatFromSequence(s) {axis = 0}\noutput y",
       {Object::sequence({})},
       "the sequence is empty"},
      {"input s sequence f32 [_, _]\ny = ConcatFromSequence(s) {axis = 0}\noutput y",
       {Object::sequence({floats({1, 1}, {1}), floats({1, 2}, {1, 2})})},
       "1x2 next to one of 1x1"},
      {"input x f32 [2]\ninput n i64 []\ny = SplitToSequence(x, n)\noutput y",
       {floats({2}, {1, 2}), number(0)},
       "parts of no length"},
      {"input x f32 [2]\ninput n i64 [2]\ny = SplitToSequence(x, n)\noutput y",
       {floats({2}, {1, 2}), ints({2}, {3, -1})},
       "do not add up"},
      {"input o optional f32 [1]\ny = OptionalGetElement(o)\noutput y",
       {Object()},
       "has no element"},
  });
}

TEST(ObjectKernels, Optionals) {
  const Object some = Object::optional(floats({1}, {1}));
  check({
      {"input o optional f32 [1]\ny = OptionalGetElement(o)\noutput y", {some}, "[1.00]1"},
      {"input o optional f32 [1]\ny = OptionalHasElement(o)\noutput y", {some}, "[true]scalar"},
      {"input o optional f32 [1]\ny = OptionalHasElement(o)\noutput y",
       {Object()},
       "[false]scalar"},
      {"input o f32 [1]\ny = OptionalHasElement(o)\noutput y", {floats({1}, {1})}, "[true]scalar"},
      {"y = OptionalHasElement()\noutput y", {}, "[false]scalar"},
      {"input x f32 [1]\ny = Optional(x)\noutput y", {floats({1}, {1})}, "[[1.00]1]"},
  });
}

TEST(ObjectKernels, MovedStrings) {
  const Object abc = texts({3}, {"b", "", "a"});
  check({
      {"input x string [1, 3]\ny = Transpose(x)\noutput y",
       {texts({1, 3}, {"b", "", "a"})},
       "['b', '', 'a']3x1"},
      {"input x string [3]\ninput i i64 [2]\ny = Gather(x, i)\noutput y",
       {abc, ints({2}, {2, 0})},
       "['a', 'b']2"},
      {"input x string [3]\ninput z string [1]\ny = Equal(x, z)\noutput y",
       {abc, texts({1}, {"a"})},
       "[false, false, true]3"},
      {"input x string [3]\ninput z string [3]\ny = Concat(x, z) {axis = 0}\noutput y",
       {abc, abc},
       "['b', '', 'a', 'b', '', 'a']6"},
      {"input x string [0]\ninput z string [0]\ny = Concat(x, z) {axis = 0}\noutput y",
       {texts({0}, {}), texts({0}, {})},
       "[]0"},
      {"input c bool [3]\ninput x string [3]\ninput z string []\ny = Where(c, x, z)\noutput y",
       {tensor<bool>(DType::kBool, {3}, {true, false, true}), abc, texts({}, {"?"})},
       "['b', '?', 'a']3"},
  });
  check_errors({{"input x string [3]\ninput i i64 [1]\ny = Gather(x, i)\noutput y",
                 {abc, ints({1}, {3})},
                 "3"}});
}

TEST(ObjectKernels, Casts) {
  check({
      {"input x string [6]\ny = Cast(x) {to = 1}\noutput y",
       {texts({6}, {"3.14", "1e2", "-inf", "+INF", " 7 ", "-0"})},
       "[3.14, 100., -inf, inf, 7.00, -0.0]6"},
      {"input x string [3]\ny = Cast(x) {to = 7}\noutput y",
       {texts({3}, {"-9223372036854775808", "12", "100.5"})},
       "[-9223372036854775808, 12, 100]3"},
      {"input x f32 [4]\ny = Cast(x) {to = 8}\noutput y",
       {floats({4}, {1.5F, -2, std::numeric_limits<float>::infinity(),
                     std::numeric_limits<float>::quiet_NaN()})},
       "['1.5', '-2', 'INF', 'NaN']4"},
      {"input x i64 [1]\ny = Cast(x) {to = 8}\noutput y", {ints({1}, {-7})}, "['-7']1"},
  });
  for (const char* text : {"", "x", "1 2", "1e400000x", "0x10"})
    EXPECT_THAT(
        run_text("input x string [1]\ny = Cast(x) {to = 1}\noutput y", {texts({1}, {text})}),
        HasSubstr("is not a valid float32"));
  for (const char* text : {"9223372036854775808", "1e300", "nan"})
    EXPECT_THAT(
        run_text("input x string [1]\ny = Cast(x) {to = 7}\noutput y", {texts({1}, {text})}),
        HasSubstr("is not a valid int64"));
}

TEST(ObjectKernels, Strings) {
  check({
      {"input x string [2, 1]\ninput z string [2]\ny = StringConcat(x, z)\noutput y",
       {texts({2, 1}, {"a", "b"}), texts({2}, {"1", "2"})},
       "['a1', 'a2', 'b1', 'b2']2x2"},
      {"input x string [0]\ninput z string [1]\ny = StringConcat(x, z)\noutput y",
       {texts({0}, {}), texts({1}, {"1"})},
       "[]0"},
      {"input x string [2]\ny, n = StringSplit(x) {delimiter = \".\"}\noutput y, n",
       {texts({2}, {"a..b", ""})},
       "['a', '', 'b', '', '', '']2x3; [3, 0]2"},
      {"input x string [2]\ny, n = StringSplit(x) {maxsplit = 1}\noutput y, n",
       {texts({2}, {"  a  b c ", "  "})},
       "['a', 'b c', '', '']2x2; [2, 0]2"},
      {"input x string [3]\ny = RegexFullMatch(x) {pattern = \"a+\"}\noutput y",
       {texts({3}, {"aa", "ab", ""})},
       "[true, false, false]3"},
      {"input x string [3]\ny = StringNormalizer(x) {case_change_action = \"UPPER\", stopwords = "
       "strings [\"B\"]}\noutput y",
       {texts({3}, {"a\xc3\xa9", "b", "\xff"})},
       "['A\xc3\x89', '\xff']2"},
      {"input x string [1, 1]\ny = StringNormalizer(x) {is_case_sensitive = 1, stopwords = strings "
       "[\"b\"]}\noutput y",
       {texts({1, 1}, {"b"})},
       "['']1x1"},
  });
  check_errors({{"input x string [1]\ny = RegexFullMatch(x) {pattern = \"(\"}\noutput y",
                 {texts({1}, {"a"})},
                 "RE2 rejects the pattern"}});
}

const std::string kNGrams =
    "input x i64 [6]\ny = TfIdfVectorizer(x) {min_gram_length = 1, max_gram_length = 2, "
    "max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [1, 0, 3], pool_int64s = [5, 6, 5, "
    "7]";

TEST(ObjectKernels, NGrams) {
  const Object x = ints({6}, {5, 7, 6, 5, 0, 7});
  check({
      {kNGrams + ", mode = \"TF\"}\noutput y", {x}, "[1.00, 2.00, 0.00, 2.00]4"},
      {kNGrams + ", mode = \"IDF\", weights = floats [2.0, 3.0, 4.0]}\noutput y",
       {x},
       "[3.00, 2.00, 0.00, 4.00]4"},
      {kNGrams + ", mode = \"TFIDF\", weights = floats [2.0, 3.0, 4.0]}\noutput y",
       {x},
       "[3.00, 4.00, 0.00, 8.00]4"},
  });
  check_errors({
      {"input x i64 [1]\ny = TfIdfVectorizer(x) {ngram_counts = [0, 9], ngram_indexes = [0], "
       "pool_int64s = [5]}\noutput y",
       {ints({1}, {5})},
       "no 1-grams from 0 to 9 of 1"},
      {"input x i64 [1]\ny = TfIdfVectorizer(x) {ngram_counts = [0], ngram_indexes = [0], "
       "pool_int64s = [5, 6]}\noutput y",
       {ints({1}, {5})},
       "more n-grams than ngram_indexes"},
      {"input x i64 [1]\ny = TfIdfVectorizer(x) {max_gram_length = 0, ngram_counts = [0], "
       "ngram_indexes = [0], pool_int64s = [5]}\noutput y",
       {ints({1}, {5})},
       "lengths or skips"},
  });
}

TEST(ObjectKernels, Labels) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  check({
      {"input x string [3]\ny = LabelEncoder(x) {keys_strings = strings [\"a\", \"b\", \"a\"], "
       "values_int64s = [1, 2, 3]}\noutput y",
       {texts({3}, {"a", "b", "c"})},
       "[3, 2, -1]3"},
      {"input x f32 [2]\ny = LabelEncoder(x) {default_string = \"?\", keys_floats = floats [nan, "
       "1.0], values_strings = strings [\"n\", \"1\"]}\noutput y",
       {floats({2}, {kNan, 2})},
       "['n', '?']2"},
      {"input x string [2]\ny = CategoryMapper(x) {cats_int64s = [4], cats_strings = strings "
       "[\"a\"]}\noutput y",
       {texts({2}, {"a", "b"})},
       "[4, -1]2"},
      {"input x i64 [1]\ny = CategoryMapper(x) {cats_int64s = [4], cats_strings = strings "
       "[\"a\"]}\noutput y",
       {ints({1}, {4})},
       "['a']1"},
      {"input x f32 [3]\ny = OneHotEncoder(x) {cats_int64s = [1, 2]}\noutput y",
       {floats({3}, {2.5F, kNan, 1})},
       "[0.00, 1.00, 0.00, 0.00, 1.00, 0.00]3x2"},
  });
  check_errors({{"input x i64 [1]\ny = OneHotEncoder(x) {cats_int64s = [1], zeros = 0}\noutput y",
                 {ints({1}, {4})},
                 "in no category"}});
}

TEST(ObjectKernels, Maps) {
  const Object map = *Object::map(ints({2}, {7, 2}), floats({2}, {1, 2}));
  check({
      {"input x f32 [1, 2]\ny = ZipMap(x) {classlabels_int64s = [4, 5]}\noutput y",
       {floats({1, 2}, {1, 2})},
       "[[[4, 5]2, [1.00, 2.00]2]]"},
      {"input m map_i64 f32 []\ny = DictVectorizer(m) {int64_vocabulary = [2, 3, 7]}\noutput y",
       {map},
       "[2.00, 0.00, 1.00]1x3"},
      {"input m map_i64 f32 []\ny = CastMap(m)\noutput y", {map}, "[2.00, 1.00]1x2"},
      {"input m map_i64 f32 []\ny = CastMap(m) {cast_to = \"TO_STRING\", map_form = \"SPARSE\", "
       "max_map = 8}\noutput y",
       {map},
       "['', '', '2', '', '', '', '', '1']1x8"},
  });
  check_errors({
      {"input m map_i64 f32 []\ny = DictVectorizer(m) {int64_vocabulary = [2]}\noutput y",
       {map},
       "the vocabulary has no key '7'"},
      {"input m map_i64 f32 []\ny = CastMap(m) {map_form = \"SPARSE\", max_map = 7}\noutput y",
       {map},
       "the key 7 where max_map is 7"},
  });
}

TEST(ObjectKernels, CountWhatTheyTake) {
  LimitedMemory memory(100);
  const auto made =
      run("input x f32 [2]\ny = SequenceConstruct(x)\noutput y", {floats({2}, {1, 2})}, memory);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_LT(memory.left(), 100 - 8);
  LimitedMemory none(7);
  const auto refused =
      run("input x f32 [2]\ny = SequenceConstruct(x)\noutput y", {floats({2}, {1, 2})}, none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_EQ(none.left(), 7);
}

}  // namespace
}  // namespace parallax
