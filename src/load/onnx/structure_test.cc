#include "load/onnx/structure.h"

#include <gtest/gtest.h>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

const std::string kInput = value_info("x", kOnnxFloat, {Dim(2)});

/// Nodes over the input x with the output y.
TestGraph graph_of(Names nodes, Names initializers = {}) {
  return {std::move(nodes), std::move(initializers), {kInput}, {value_info("y")}};
}

Result<std::vector<std::size_t>> order_of(const TestGraph& graph) {
  const std::string bytes = graph.bytes();
  const auto parsed = parse_onnx_graph(bytes);
  if (!parsed) return tl::unexpected(parsed.error());
  const OnnxModel model{.ir_version = 8, .opsets = {{"", 17}, {"com.acme", 3}}, .graph = bytes};
  return check_structure(model, *parsed).transform(&CheckedGraph::order);
}

using Order = std::vector<std::size_t>;

TEST(CheckStructure, SortsNodesStably) {
  const struct {
    Names nodes;
    Order order;
  } cases[] = {
      {{node("Relu", {"x"}, {"a"}), node("Abs", {"x"}, {"b"}), node("Add", {"a", "b"}, {"y"})},
       {0, 1, 2}},
      {{node("Add", {"a", "b"}, {"y"}), node("Abs", {"x"}, {"b"}), node("Relu", {"x"}, {"a"})},
       {1, 2, 0}},
      {{node("Abs", {"b"}, {"y"}), node("Relu", {"x"}, {"z"}), node("Neg", {"x"}, {"b"})},
       {1, 2, 0}},
      {{node("Mul", {"a", "a"}, {"y"}), node("Abs", {"x"}, {"a"})}, {1, 0}},
  };
  for (const auto& c : cases) {
    const auto order = order_of(graph_of(c.nodes));
    ASSERT_TRUE(order) << order.error().to_string();
    EXPECT_EQ(*order, c.order);
  }
}

/// An If whose branches are the given graphs.
std::string branch(const TestGraph& then_graph, const TestGraph& else_graph) {
  return node("If", {"x"}, {"y"},
              {graph_attribute("then_branch", then_graph.bytes()),
               graph_attribute("else_branch", else_graph.bytes())},
              "choice");
}

TEST(CheckStructure, RefusesBadNames) {
  const TestGraph good = {{node("Abs", {"x"}, {"t"})}, {}, {}, {value_info("t")}};
  const struct {
    TestGraph graph;
    const char* message;
  } cases[] = {
      {graph_of({node("Abs", {"q"}, {"y"})}),
       "node 'Abs_0': reads 'q', which no node, input or initializer defines"},
      {graph_of({node("Abs", {"x"}, {"z"})}), "no node, input or initializer defines output 'y'"},
      {graph_of({node("Abs", {"x"}, {"y"}), node("Neg", {"x"}, {"y"}, {}, "n")}),
       "node 'n': 'y' is defined twice"},
      {graph_of({node("Split", {"x"}, {"y", "y"}, {}, "n")}), "'y' is defined twice"},
      {graph_of({node("Abs", {"x"}, {"x"})}), "'x' is defined twice"},
      {graph_of({node("Abs", {"w"}, {"y"})},
                {float_tensor("w", {1}, {1}), float_tensor("w", {1}, {1})}),
       "'w' is defined twice"},
      {graph_of({node("Abs", {"x"}, {"y"})}, {float_tensor("y", {1}, {1})}),
       "'y' is defined twice"},
      {{{}, {}, {kInput, kInput}, {value_info("x")}}, "'x' is defined twice"},
      {graph_of({node("Abs", {"y"}, {"y"}, {}, "self")}), "node 'self': the node depends on its"},
      {graph_of({node("Abs", {"x"}, {"s"}), node("Add", {"s", "c"}, {"a"}, {}, "one"),
                 node("Abs", {"a"}, {"b"}, {}, "two"), node("Abs", {"b"}, {"c"}, {}, "three"),
                 node("Abs", {"c"}, {"y"}, {}, "after")}),
       "depends on its own output"},
      {graph_of({branch({{node("Abs", {"q"}, {"t"})}, {}, {}, {value_info("t")}}, good)}),
       "reads 'q', which no node, input or initializer defines"},
      {graph_of({branch({{node("Abs", {"x"}, {"x"})}, {}, {}, {value_info("x")}}, good)}),
       "the node depends on its own output"},
      {graph_of({branch({{node("Abs", {"y"}, {"t"})}, {}, {}, {value_info("t")}}, good)}),
       "the node depends on its own output"},
      {graph_of({branch(good, {{}, {}, {}, {value_info("t")}})}), "defines output 't'"},
      {{{node("Abs", {"x"}, {"y"})}, {}, {kInput}, {}}, "no outputs"},
  };
  for (const auto& c : cases) {
    const auto order = order_of(c.graph);
    ASSERT_FALSE(order) << c.message;
    EXPECT_EQ(order.error().code, ErrorCode::kInvalidModel);
    EXPECT_NE(order.error().to_string().find(c.message), std::string::npos)
        << order.error().to_string() << "\nhas no: " << c.message;
  }
}

TEST(CheckStructure, NamesANodeOnTheCycle) {
  const auto order = order_of(
      graph_of({node("Abs", {"c"}, {"y"}, {}, "after"), node("Abs", {"b"}, {"c"}, {}, "on_1"),
                node("Abs", {"c"}, {"b"}, {}, "on_2")}));
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().node.substr(0, 3), "on_");
}

TEST(CheckStructure, ListsAllUnsupportedOperators) {
  const TestGraph inner = {
      {node("Lstm", {"x"}, {"t"}), node("Abs", {"x"}, {"u"})}, {}, {}, {value_info("t")}};
  const auto order = order_of(graph_of({branch(inner, inner), node("Lstm", {"x"}, {"a"}),
                                        node("Relu", {"x"}, {"b"}, {}, "", "com.acme"),
                                        node("Relu", {"x"}, {"c"}, {}, "", "ai.onnx"),
                                        node("Foo", {"x"}, {"d"}, {}, "", "org.none")}));
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(order.error().message,
            "unsupported operators: Lstm (ai.onnx opset 17) x3, "
            "Relu (com.acme opset 3) x1, Foo (org.none not imported) x1");
}

TEST(CheckStructure, LimitsNesting) {
  TestGraph graph = {{node("Abs", {"x"}, {"t0"})}, {}, {}, {value_info("t0")}};
  for (int depth = 1; depth <= 70; ++depth) {
    const std::string name = "t" + std::to_string(depth);
    graph = {{node("If", {"x"}, {name}, {graph_attribute("then_branch", graph.bytes())})},
             {},
             {},
             {value_info(name)}};
  }
  graph.inputs = {kInput};
  const auto order = order_of(graph);
  ASSERT_FALSE(order);
  EXPECT_NE(order.error().message.find("more than 64 deep"), std::string::npos)
      << order.error().message;
}

TEST(CheckStructure, TheLimitOfNestingNamesItsOption) {
  const TestGraph inner = {{node("Abs", {"x"}, {"t"})}, {}, {}, {value_info("t")}};
  const std::string bytes = graph_of({branch(inner, inner)}).bytes();
  const OnnxModel model{.ir_version = 8, .opsets = {{"", 17}}, .graph = bytes};
  const auto checked = check_structure(model, *parse_onnx_graph(bytes), 0);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "subgraphs are nested more than 0 deep (LoadOptions::max_nesting, --max-nesting: at "
            "most 64)");
}

TEST(CheckStructure, SortsByWhatBodiesRead) {
  const TestGraph inner = {{node("Abs", {"late"}, {"t"})}, {}, {}, {value_info("t")}};
  const TestGraph outer = {
      {node("If", {"x"}, {"u"}, {graph_attribute("then_branch", inner.bytes())})},
      {},
      {},
      {value_info("u")}};
  const std::string bytes = graph_of({branch(outer, inner), node("Abs", {"x"}, {"late"})}).bytes();
  const OnnxModel model{.ir_version = 8, .opsets = {{"", 17}}, .graph = bytes};
  const auto checked = check_structure(model, *parse_onnx_graph(bytes));
  ASSERT_TRUE(checked) << checked.error().to_string();
  EXPECT_EQ(checked->order, (Order{1, 0}));
  EXPECT_TRUE(checked->captures.empty());
  const auto& bodies = checked->bodies.at(0);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0].attribute, "then_branch");
  EXPECT_EQ(bodies[0].checked.captures, (std::vector<std::string_view>{"x", "late"}));
  EXPECT_EQ(bodies[1].checked.captures, (std::vector<std::string_view>{"late"}));
}

TEST(CheckStructure, ABodyMayHideANameOutside) {
  const TestGraph inner = {
      {node("Abs", {"x"}, {"hidden"}), node("Neg", {"hidden"}, {"t"})}, {}, {}, {value_info("t")}};
  const auto order = order_of(graph_of({branch(inner, inner), node("Abs", {"x"}, {"hidden"})}));
  ASSERT_TRUE(order) << order.error().to_string();
  EXPECT_EQ(*order, (Order{0, 1}));
}

TEST(OnnxOpset, IsImportedOnce) {
  const struct {
    std::vector<OnnxOpset> opsets;
    bool good;
  } cases[] = {
      {{{"", 1}}, true},
      {{{"ai.onnx.ml", 3}, {"", 28}}, true},
      {{{"", 17}, {"", 17}}, true},
      {{{"ai.onnx.ml", 3}}, true},
      {{}, false},
      {{{"", 17}, {"", 18}}, false},
  };
  for (const auto& c : cases) {
    const auto status = check_opsets({.ir_version = 8, .opsets = c.opsets, .graph = {}});
    ASSERT_EQ(status.has_value(), c.good);
    if (!c.good) {
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidModel);
    }
  }
}

TEST(OnnxOpset, MustBeKnownIfANodeNeedsIt) {
  const std::string uses = graph_of({node("Relu", {"x"}, {"y"})}).bytes();
  const std::string idle = TestGraph{{}, {}, {kInput}, {value_info("x")}}.bytes();
  for (const std::int64_t version : {-1, 0, 29}) {
    const OnnxModel model{.ir_version = 8, .opsets = {{"", version}}, .graph = {}};
    const auto refused = check_structure(model, *parse_onnx_graph(uses));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(check_structure(model, *parse_onnx_graph(idle)));
  }
}

}  // namespace
}  // namespace parallax
