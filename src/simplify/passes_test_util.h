// Helpers for tests of passes: graphs from text, and summaries of the result.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "simplify/pass.h"

namespace parallax {

/// Parses `text`. If it is invalid, reports a failure and returns an empty graph.
inline Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().to_string() << text;
  if (!graph) return {};
  const Status status = infer_graph(*graph);
  EXPECT_TRUE(status) << status.error().to_string() << text;
  return *std::move(graph);
}

/// The texts of the graph's nodes, in order: "Conv Relu" if each is that of its operator.
template <class TextOf>
std::string texts_of(const Graph& graph, const TextOf& text_of) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + text_of(node);
  return text;
}
inline std::string operators_of(const Graph& graph) {
  return texts_of(graph, [](const Node& node) { return std::string(to_string(node.op)); });
}

/// Returns the remaining operators and the outputs: "Relu Add -> y, x".
inline std::string left_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += std::string(to_string(node.op)) + " ";
  text += "->";
  for (const ValueId id : graph.outputs) text += " " + graph.values[id].name;
  return text;
}

/// Expects that `pass` turns `text` into a valid graph with the summary `after`, whose outputs keep
/// their shapes.
inline void expect_rewrite(const std::string& text, decltype(Pass::run) pass,
                           std::string (*summary)(const Graph&), const std::string& after) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  const std::string before = print(*graph);
  std::vector<Shape> shapes;
  for (const ValueId output : graph->outputs) shapes.push_back(graph->values[output].shape);
  const Result<int> changes = pass(*graph, {});
  ASSERT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(summary(*graph), after);
  EXPECT_TRUE(*changes > 0 || print(*graph) == before) << print(*graph);
  const Status valid = verify(*graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string();
  const Status inferred = infer_graph(*graph);
  EXPECT_TRUE(inferred) << inferred.error().to_string();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(graph->values[graph->outputs[i]].shape, shapes[i]);
  }
}

/// A graph that a pass must not change, and the reason.
struct NearMissCase {
  decltype(Pass::run) pass;
  std::string text;
  const char* reason;
};

/// Expects that each pass changes nothing and names `reason` once, at the node `last`.
inline void expect_near_misses(std::span<const NearMissCase> rows) {
  for (const NearMissCase& row : rows) {
    Graph graph = graph_of(row.text);
    const PassContext context;
    EXPECT_EQ(row.pass(graph, context).value_or(-1), 0) << row.text;
    const auto missed = context.near_misses->take();
    ASSERT_EQ(missed.size(), 1U) << row.text;
    EXPECT_EQ(missed[0].reason, row.reason);
    EXPECT_EQ(missed[0].node, "last") << row.text;
    EXPECT_EQ(missed[0].count, 1) << row.text;
  }
}

}  // namespace parallax
