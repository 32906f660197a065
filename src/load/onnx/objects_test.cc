// Sequences, optionals, maps and strings in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using protozero::pbf_writer;
using testing::HasSubstr;

/// A TypeProto: of a tensor, or of what is around `inside`.
std::string tensor_type(int type) {
  return message([&](pbf_writer& w) {
    w.add_message(1, message([&](pbf_writer& t) { t.add_int32(1, type); }));
  });
}
std::string around(protozero::pbf_tag_type tag, const std::string& inside) {
  return message([&](pbf_writer& w) {
    w.add_message(tag, message([&](pbf_writer& t) { t.add_message(1, inside); }));
  });
}
std::string map_type(int key, const std::string& value) {
  return message([&](pbf_writer& w) {
    w.add_message(5, message([&](pbf_writer& t) {
                    t.add_int32(1, key);
                    t.add_message(2, value);
                  }));
  });
}
std::string typed(std::string_view name, const std::string& type) {
  return message([&](pbf_writer& w) {
    w.add_string(1, name.data(), name.size());
    w.add_message(2, type);
  });
}
constexpr protozero::pbf_tag_type kSequence = 4, kOptional = 9;

std::string input_text(const std::string& type) {
  const auto graph =
      load(model({{node("Identity", {"x"}, {"y"})}, {}, {typed("x", type)}, {value_info("y")}}));
  if (!graph) return graph.error().message;
  const std::string text = print(*graph);
  return text.substr(8, text.find('\n', 8) - 8);
}

TEST(LoadObjects, Types) {
  const std::string f32 = tensor_type(kOnnxFloat);
  EXPECT_EQ(input_text(around(kSequence, f32)), "input x sequence f32 any");
  EXPECT_EQ(input_text(around(kOptional, around(kSequence, tensor_type(kOnnxString)))),
            "input x optional sequence string any");
  EXPECT_EQ(input_text(around(kSequence, map_type(kOnnxInt64, f32))),
            "input x sequence map_i64 f32 any");
  EXPECT_THAT(input_text(map_type(kOnnxFloat, f32)), HasSubstr("keys are neither"));
  EXPECT_THAT(input_text(around(kSequence, "")), HasSubstr("not supported"));
  std::string deep = f32;
  for (int i = 0; i < 100; ++i) deep = around(kSequence, deep);
  EXPECT_THAT(input_text(deep), HasSubstr("nested too deeply"));
}

TEST(LoadObjects, StringsOfEveryForm) {
  const auto strings = [](const Ints& dims, const Names& texts) {
    return tensor_head("w", kOnnxString, dims) + message([&](pbf_writer& w) {
             for (const std::string& text : texts) w.add_string(6, text);
           });
  };
  const auto graph =
      load(model({{node("Constant", {}, {"c"}, {attribute("value_string", "a\n")}),
                   node("Constant", {}, {"d"}, {attribute("value_strings", Names{"b", ""})}),
                   node("Concat", {"w", "d"}, {"y"}, {attribute("axis", 0)})},
                  {strings({1}, {"z"})},
                  {},
                  {value_info("y"), value_info("c")}}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  const std::string text = print(*graph);
  for (const char* line : {"const w string [1] = [\"z\"]", "const c string [] = [\"a\\x0a\"]",
                           "const d string [2] = [\"b\", \"\"]", "y: string [3] = Concat"})
    EXPECT_THAT(text, HasSubstr(line));

  const auto few =
      load(model({{node("Identity", {"w"}, {"y"})}, {strings({2}, {"z"})}, {}, {value_info("y")}}));
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("stores 1 elements"));
  const auto huge = load(model({{node("Identity", {"w"}, {"y"})},
                                {strings({std::int64_t{1} << 62}, {})},
                                {},
                                {value_info("y")}}));
  EXPECT_FALSE(huge);
}

TEST(LoadObjects, SequenceMapBecomesALoop) {
  const TestGraph body{
      {node("Add", {"a", "b"}, {"r"})},
      {},
      {value_info("a", kOnnxFloat, {Dim("n")}), value_info("b", kOnnxFloat, {Dim("n")})},
      {value_info("r", kOnnxFloat, {Dim("n")})}};
  const auto file = [&](const Names& inputs) {
    return model({{node("SequenceMap", inputs, {"y"}, {graph_attribute("body", body.bytes())})},
                  {},
                  {typed("s", around(kSequence, message([](pbf_writer& w) {
                                       w.add_message(1, message([](pbf_writer& t) {
                                                       t.add_int32(1, kOnnxFloat);
                                                       t.add_message(2, message([](pbf_writer& d) {
                                                                       d.add_message(1,
                                                                                     std::string());
                                                                     }));
                                                     }));
                                     }))),
                   value_info("t", kOnnxFloat, {Dim(1)})},
                  {value_info("y")}});
  };
  const auto graph = load(file({"s", "t"}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_TRUE(verify(*graph, Stage::kLoad));
  const std::string text = print(*graph);
  EXPECT_THAT(text, HasSubstr("y: sequence f32 [_] = Loop("));
  EXPECT_THAT(text, HasSubstr("SequenceInsert"));
  EXPECT_FALSE(load(file({"s"})));
}

TEST(LoadObjects, DeclaredOutputsMustBeOfTheirType) {
  const auto declared = [](const std::string& type) {
    return load(model({{node("SequenceConstruct", {"x"}, {"y"})},
                       {},
                       {value_info("x", kOnnxFloat, {Dim(2)})},
                       {typed("y", type)}}));
  };
  EXPECT_TRUE(declared(around(kSequence, tensor_type(kOnnxFloat))));
  EXPECT_FALSE(declared(around(kSequence, tensor_type(kOnnxInt64))));
  EXPECT_FALSE(declared(tensor_type(kOnnxFloat)));
}

}  // namespace
}  // namespace parallax
