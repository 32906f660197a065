#include "load/onnx/functions.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/text/text.h"
#include "load/onnx/describe.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using protozero::pbf_writer;

/// A FunctionProto of domain com.acme.
struct TestFunction {
  std::string name;
  Names inputs, outputs, nodes;
  Names attributes = {}, defaults = {};
  std::int64_t opset = 17;
  std::string overload = {};

  std::string bytes() const {
    return message([&](pbf_writer& w) {
      w.add_string(1, name);
      for (const std::string& input : inputs) w.add_string(4, input);
      for (const std::string& output : outputs) w.add_string(5, output);
      for (const std::string& attribute : attributes) w.add_string(6, attribute);
      for (const std::string& node : nodes) w.add_message(7, node);
      w.add_message(9, opset_import(opset));
      w.add_string(10, "com.acme");
      for (const std::string& attribute : defaults) w.add_message(11, attribute);
      if (!overload.empty()) w.add_string(13, overload);
    });
  }
};

std::string call(const std::string& op, const Names& inputs, const Names& outputs,
                 const Names& attributes = {}) {
  return node(op, inputs, outputs, attributes, "n", "com.acme");
}

/// An attribute of that type which takes the value of attribute `name` of the function.
std::string reference(const std::string& attribute, int type, const std::string& name) {
  return attribute_head(attribute, type) + message([&](pbf_writer& w) { w.add_string(21, name); });
}

std::string model_of(const Names& nodes, const std::vector<TestFunction>& functions) {
  TestGraph graph{nodes, {}, {value_info("x", kOnnxFloat, {Dim(2), Dim(3)})}, {value_info("y")}};
  std::string bytes = model(graph);
  for (const TestFunction& function : functions)
    bytes += message([&](pbf_writer& w) { w.add_message(25, function.bytes()); });
  return bytes + message([](pbf_writer& w) { w.add_message(8, opset_import(1, "com.acme")); });
}

Result<Graph> load_functions(const Names& nodes, const std::vector<TestFunction>& functions) {
  return load(model_of(nodes, functions));
}

std::string nodes_of(const Graph& graph) {
  std::string text = print(graph);
  return text.substr(text.find('\n', text.find("input x")) + 1);
}

const TestFunction kTwice = {
    "Twice", {"a"}, {"b"}, {node("Relu", {"a"}, {"t"}), node("Add", {"t", "a"}, {"b"})}};

struct InlinedCase {
  const char* name;
  Names nodes;
  std::vector<TestFunction> functions;
  const char* expected;
};

TEST(Functions, AreInlined) {
  const InlinedCase cases[] = {
      {"Names",
       {call("Twice", {"x"}, {"t"}), call("Twice", {"t"}, {"y"})},
       {kTwice},
       "\"n/t\": f32 [2, 3] = Relu(x) @\"n/Relu\"\n"
       "t: f32 [2, 3] = Add(\"n/t\", x) @\"n/Add\"\n"
       "\"n/t_1\": f32 [2, 3] = Relu(t) @\"n/Relu_1\"\n"
       "y: f32 [2, 3] = Add(\"n/t_1\", t) @\"n/Add_1\"\n"
       "output y\n"},
      {"Nested",
       {call("Outer", {"x"}, {"y"})},
       {{"Outer", {"a"}, {"b"}, {call("Twice", {"a"}, {"c"}), node("Neg", {"c"}, {"b"})}}, kTwice},
       "\"n/n/t\": f32 [2, 3] = Relu(x) @\"n/n/Relu\"\n"
       "\"n/c\": f32 [2, 3] = Add(\"n/n/t\", x) @\"n/n/Add\"\n"
       "y: f32 [2, 3] = Neg(\"n/c\") @\"n/Neg\"\n"
       "output y\n"},
      {"AttributesGivenAndPreset",
       {call("F", {"x"}, {"y"}, {attribute("first", 1)})},
       {{"F",
         {"a"},
         {"b"},
         {node("Softmax", {"a"}, {"t"}, {reference("axis", 2, "first")}),
          node("Flatten", {"t"}, {"u"}, {reference("axis", 2, "second")}),
          node("Softmax", {"u"}, {"b"}, {reference("axis", 2, "third")})},
         {"first", "third"},
         {attribute("second", 2)}}},
       "\"n/t\": f32 [2, 3] = Softmax(x) {axis = 1} @\"n/Softmax\"\n"
       "\"n/u\": f32 [6, 1] = Flatten(\"n/t\") {axis = 2} @\"n/Flatten\"\n"
       "y: f32 [6, 1] = Softmax(\"n/u\") @\"n/Softmax_1\"\n"
       "output y\n"},
      {"OperatorSetOfItsOwn",
       {call("F", {"x"}, {"y"})},
       {{"F",
         {"a"},
         {"b"},
         {node("Squeeze", {"a"}, {"t"}, {attribute("axes", Ints{})}), node("Relu", {"t"}, {"b"})},
         {},
         {},
         11}},
       "const \"n/Squeeze/axes\" i64 [0] = []\n"
       "\"n/t\": f32 [2, 3] = Squeeze(x, \"n/Squeeze/axes\") @\"n/Squeeze\"\n"
       "y: f32 [2, 3] = Relu(\"n/t\") @\"n/Relu\"\n"
       "output y\n"},
      {"InputsLeftOutAndPassedOn",
       {call("F", {"x"}, {"", "y"})},
       {{"F", {"a", "c"}, {"b", "a"}, {node("Clip", {"a", "c"}, {"b"})}}},
       "\"n/b\": f32 [2, 3] = Clip(x) @\"n/Clip\"\n"
       "y: f32 [2, 3] = Identity(x) @n\n"
       "output y\n"},
  };
  for (const auto& c : cases) {
    const auto graph = load_functions(c.nodes, c.functions);
    ASSERT_TRUE(graph) << c.name << ": " << graph.error().to_string();
    EXPECT_EQ(nodes_of(*graph), c.expected) << c.name;
  }
}

/// Names inside a graph of the body hide those of the function, not those of the caller.
TEST(Functions, HaveGraphsInTheirBodies) {
  const TestGraph branch = {
      {node("Neg", {"a"}, {"h"}), node("Add", {"h", "t"}, {"u"})}, {}, {}, {value_info("u")}};
  const TestGraph hiding = {
      {node("Neg", {"t"}, {"a"}), node("Exp", {"a"}, {"u"})}, {}, {}, {value_info("u")}};
  const TestFunction function = {
      "F",
      {"a", "c"},
      {"b"},
      {call("Twice", {"a"}, {"t"}), node("If", {"c"}, {"b"},
                                         {graph_attribute("then_branch", branch.bytes()),
                                          graph_attribute("else_branch", hiding.bytes())})}};
  const auto graph = load_functions({node("ReduceMax", {"x"}, {"m"}, {attribute("keepdims", 0)}),
                                     node("IsNaN", {"m"}, {"c"}), call("F", {"x", "c"}, {"y"})},
                                    {function, kTwice});
  ASSERT_TRUE(graph) << graph.error().to_string();
  const std::string text = print(*graph);
  EXPECT_NE(text.find("\"n/h\": f32 [2, 3] = Neg(x)"), std::string::npos) << text;
  EXPECT_NE(text.find("\"n/a\": f32 [2, 3] = Neg(\"n/t\")"), std::string::npos) << text;
}

TEST(Functions, AreDescribedAsSupportedAndHaveNoKernels) {
  const std::string bytes = model_of({call("Twice", {"x"}, {"y"})}, {kTwice});
  const auto described = describe_onnx(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(described) << described.error().to_string();
  const auto& operators = described->report.operators;
  ASSERT_EQ(operators.size(), 3U);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    EXPECT_TRUE(operators[i].supported) << operators[i].name;
    EXPECT_EQ(described->kinds[i].has_value(), operators[i].name != "Twice") << operators[i].name;
  }
}

TEST(Functions, GoBeforeOperatorsAndHaveOverloads) {
  TestFunction other = kTwice;
  other.overload = "v2";
  other.nodes = {node("Neg", {"a"}, {"b"})};
  const std::string overloaded =
      call("Twice", {"x"}, {"y"}) + message([](pbf_writer& w) { w.add_string(8, "v2"); });
  const auto graph = load_functions({overloaded}, {kTwice, other});
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(nodes_of(*graph), "y: f32 [2, 3] = Neg(x) @\"n/Neg\"\noutput y\n");
}

TEST(Functions, SurviveDamage) {
  const TestGraph branch = {{call("Twice", {"a"}, {"u"})}, {}, {}, {value_info("u")}};
  const TestFunction function = {"F",
                                 {"a", "c"},
                                 {"b"},
                                 {node("Softmax", {"a"}, {"t"}, {reference("axis", 2, "k")}),
                                  node("If", {"c"}, {"b"},
                                       {graph_attribute("then_branch", branch.bytes()),
                                        graph_attribute("else_branch", branch.bytes())})},
                                 {"k"}};
  const std::string whole =
      model_of({node("IsNaN", {"x"}, {"n"}), node("Cast", {"n"}, {"f"}, {attribute("to", 1)}),
                node("ReduceMax", {"f"}, {"m"}, {attribute("keepdims", 0)}),
                node("Cast", {"m"}, {"c"}, {attribute("to", 9)}),
                call("F", {"x", "c"}, {"y"}, {attribute("k", 1)})},
               {function, kTwice});
  ASSERT_TRUE(load(whole)) << load(whole).error().to_string();
  std::mt19937 random(1);  // NOLINT: the same mutants at every run
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto graph = load(damaged);
    if (graph) {
      EXPECT_TRUE(verify(*graph, Stage::kLoad));
    } else {
      EXPECT_EQ(graph.error().stage, Stage::kLoad) << graph.error().to_string();
    }
  }
}

TEST(Functions, WhatIsNotCalledDecidesNothing) {
  const TestFunction future = {"F", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})}, {}, {}, 99};
  const TestFunction unknown = {"U", {"a"}, {"b"}, {call("Lost", {"a"}, {"b"})}};
  for (const auto& functions : {std::vector{kTwice, future}, std::vector{kTwice, future, future},
                                std::vector{kTwice, unknown}}) {
    const auto graph = load_functions({call("Twice", {"x"}, {"y"})}, functions);
    EXPECT_TRUE(graph) << graph.error().to_string();
  }
}

TEST(Functions, RefusesWhatCannotBeCalled) {
  const auto calls = [](const char* name, const char* other) {
    return TestFunction{name, {"a"}, {"b"}, {call(other, {"a"}, {"t"}), call(other, {"t"}, {"b"})}};
  };
  std::vector<TestFunction> exponential = {kTwice};
  for (int i = 0; i < 60; ++i) {
    exponential.push_back(calls(("F" + std::to_string(i + 1)).c_str(),
                                i == 0 ? "Twice" : ("F" + std::to_string(i)).c_str()));
  }
  std::vector<TestFunction> deep = {kTwice};
  for (int i = 0; i < 70; ++i) {
    deep.push_back({"D" + std::to_string(i + 1),
                    {"a"},
                    {"b"},
                    {call(i == 0 ? "Twice" : "D" + std::to_string(i), {"a"}, {"b"})}});
  }
  const struct {
    Names nodes;
    std::vector<TestFunction> functions;
    const char* message;
  } cases[] = {
      {{call("F", {"x"}, {"y"})}, {calls("F", "F")}, "function 'com.acme.F' calls itself"},
      {{call("F", {"x"}, {"y"})}, {calls("F", "G"), calls("G", "F")}, "calls itself"},
      {{call("F", {"x"}, {"y"})}, {calls("F", "Lost")}, "Lost (com.acme opset 1) x2"},
      {{call("F60", {"x"}, {"y"})}, exponential, "too much for its file"},
      {{call("D70", {"x"}, {"y"})}, deep, "nested more than 64 deep"},
      {{call("Twice", {"x"}, {"y"})}, {kTwice, kTwice}, "'com.acme.Twice' is defined twice"},
      {{call("Twice", {"x", "x"}, {"y"})}, {kTwice}, "is called with 2 and 1"},
      {{call("Twice", {"x"}, {"y"}, {attribute("k", 1)})}, {kTwice}, "has no attribute 'k'"},
      {{call("F", {"x"}, {"y"})},
       {{"F", {"a"}, {"b"}, {node("Softmax", {"a"}, {"b"}, {reference("axis", 2, "k")})}}},
       "has no attribute 'k'"},
      {{call("F", {"x"}, {"y"}, {attribute("k", 0.5F)})},
       {{"F", {"a"}, {"b"}, {node("Softmax", {"a"}, {"b"}, {reference("axis", 2, "k")})}, {"k"}}},
       "wrong type"},
      {{call("F", {"x"}, {"y"})},
       {{"F", {"a"}, {"b"}, {node("Relu", {"x"}, {"b"})}}},
       "reads 'n/x', which no node, input or initializer defines"},
      {{call("F", {"x"}, {"y"})},
       {{"F", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})}, {}, {}, 99}},
       "operator set 99"},
  };
  for (const auto& c : cases) {
    const auto graph = load_functions(c.nodes, c.functions);
    ASSERT_FALSE(graph) << c.message;
    EXPECT_NE(graph.error().to_string().find(c.message), std::string::npos)
        << graph.error().to_string() << "\nhas no: " << c.message;
  }
}

}  // namespace
}  // namespace parallax
