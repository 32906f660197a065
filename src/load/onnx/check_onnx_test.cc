// Lists of all nodes that cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kX = value_info("x", kOnnxFloat, {Dim(2), Dim("n")});

Result<std::vector<UnsupportedNode>> check(const std::string& bytes) {
  return check_onnx({std::as_bytes(std::span(bytes.data(), bytes.size()))});
}

/// "node operator domain: reason" of each.
Names listed(const std::string& bytes) {
  const auto nodes = check(bytes);
  EXPECT_TRUE(nodes) << nodes.error().to_string();
  Names result;
  for (const UnsupportedNode& each : nodes.value_or(std::vector<UnsupportedNode>()))
    result.push_back(each.node + " " + each.op + " " + each.domain + ": " + each.reason);
  return result;
}

/// A node that is refused for an attribute.
std::string odd_gelu(const std::string& from, const std::string& to) {
  return node("Gelu", {from}, {to}, {attribute("approximate", "odd")}, to + "_gelu");
}
std::string refused_gelu(const std::string& to) {
  return to + "_gelu Gelu : Gelu: approximate 'odd' is not covered (inputs: float32 2xn)";
}

TEST(CheckOnnx, ListsNothingOfAModelThatLoads) {
  const std::string bytes = model({{node("Relu", {"x"}, {"y"})}, {}, {kX}, {value_info("y")}});
  ASSERT_TRUE(load(bytes));
  EXPECT_THAT(listed(bytes), IsEmpty());
}

TEST(CheckOnnx, ListsEachNodeOfAMissingOperator) {
  const TestGraph body = {{node("Bar", {"x"}, {"t"}, {}, "inside")}, {}, {}, {value_info("t")}};
  const std::string bytes = model({{node("Foo", {"x"}, {"a"}, {}, "first", "com.acme"),
                                    node("Foo", {"a"}, {"b"}, {}, {}, "com.acme"),
                                    node("If", {"c"}, {"d"},
                                         {graph_attribute("then_branch", body.bytes()),
                                          graph_attribute("else_branch", body.bytes())}),
                                    node("Relu", {"x"}, {"y"})},
                                   {},
                                   {kX, value_info("c", kOnnxBool, {})},
                                   {value_info("y")}});
  EXPECT_THAT(listed(bytes),
              ElementsAre("first Foo com.acme: unsupported operator Foo (com.acme not imported)",
                          "Foo_1 Foo com.acme: unsupported operator Foo (com.acme not imported)",
                          "inside Bar : unsupported operator Bar (ai.onnx opset 17)",
                          "inside Bar : unsupported operator Bar (ai.onnx opset 17)"));
}

TEST(CheckOnnx, ListsEachNodeWithAnUnsupportedAttribute) {
  const TestGraph bodies[] = {
      {{odd_gelu("x", "t"), node("Relu", {"t"}, {"u"})}, {}, {}, {value_info("u")}},
      {{node("Relu", {"x"}, {"u"}), odd_gelu("u", "v")}, {}, {}, {value_info("v")}}};
  const std::string bytes =
      model({{odd_gelu("x", "a"), node("Relu", {"a"}, {"b"}), odd_gelu("b", "c"),
              node("If", {"k"}, {"d"},
                   {graph_attribute("then_branch", bodies[0].bytes()),
                    graph_attribute("else_branch", bodies[1].bytes())}),
              odd_gelu("x", "e"), node("Foo", {"d"}, {"f"}), node("Relu", {"f"}, {"y"})},
             {},
             {kX, value_info("k", kOnnxBool, {})},
             {value_info("y"), value_info("e")}},
            20);
  // Relu_1 and the rest read the result of such a node: only their operators are checked.
  EXPECT_THAT(listed(bytes), ElementsAre("Foo_5 Foo : unsupported operator Foo (ai.onnx opset 20)",
                                         refused_gelu("a"), refused_gelu("t"), refused_gelu("v"),
                                         refused_gelu("e")));
  EXPECT_EQ(load(bytes).error().code, ErrorCode::kUnsupported);
}

TEST(CheckOnnx, ListsNodesThatWouldHaveAnUnsupportedType) {
  TestGraph graph = {{node("Relu", {"x"}, {"y"})}, {}, {kX}, {value_info("y")}};
  graph.inputs[0] = value_info("x", kOnnxBool, {Dim(2)});
  const auto loaded = load(model(graph));
  ASSERT_FALSE(loaded);
  const auto nodes = check(model(graph));
  if (loaded.error().code == ErrorCode::kUnsupported) {
    ASSERT_TRUE(nodes && nodes->size() == 1);
    EXPECT_EQ(nodes->front().node, loaded.error().node);
    EXPECT_EQ(nodes->front().reason, loaded.error().message);
  } else {
    EXPECT_EQ(nodes.error().to_string(), loaded.error().to_string());
  }
}

TEST(CheckOnnx, RefusesWhatIsNoNodes) {
  const TestGraph good = {{node("Relu", {"x"}, {"y"})}, {}, {kX}, {value_info("y")}};
  TestGraph complex = good, dangling = good;
  complex.inputs[0] = value_info("x", 14, {Dim(2)});
  dangling.nodes[0] = node("Relu", {"z"}, {"y"});
  const struct {
    std::string bytes;
    ErrorCode code;
  } rows[] = {{"", ErrorCode::kInvalidModel},
              {model(dangling), ErrorCode::kInvalidModel},
              {model(good, 99), ErrorCode::kUnsupported},
              {model(complex), ErrorCode::kUnsupported}};
  for (const auto& row : rows) {
    const auto nodes = check(row.bytes);
    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().code, row.code) << nodes.error().to_string();
    EXPECT_EQ(nodes.error().to_string(), load(row.bytes).error().to_string());
  }
}

TEST(CheckOnnx, CutsLongTexts) {
  const std::string op(1000, 'O'), mode(5000, 'm');
  const TestGraph graph = {
      {node(op, {"x"}, {"a"}, {}, "n1", std::string(1000, 'd')),
       node("Gelu", {"x"}, {"y"}, {attribute("approximate", mode.c_str())}, "n2")},
      {},
      {kX},
      {value_info("y")}};
  const auto nodes = check(model(graph, 20));
  ASSERT_TRUE(nodes) << nodes.error().to_string();
  ASSERT_EQ(nodes->size(), 2U);
  for (const UnsupportedNode& each : *nodes) {
    EXPECT_LT(each.op.size(), 130U);
    EXPECT_LT(each.domain.size(), 130U);
    EXPECT_LT(each.reason.size(), 510U);
  }
}

}  // namespace
}  // namespace parallax
