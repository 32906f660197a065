// Tests the reports of run_passes(), and its errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simplify/passes_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

TEST(RunPasses, ReportsEachAndRefusesUnknownNames) {
  const std::string text = "input x f32 [2]\na = Identity(x)\ny = Relu(a)\noutput y";
  Graph graph = graph_of(text);
  const auto reports = run_passes(simplify_passes(), graph, {});
  ASSERT_TRUE(reports) << reports.error().to_string();
  EXPECT_EQ(reports->size(), simplify_passes().size());
  EXPECT_EQ(left_of(graph), "Relu -> y");

  graph = graph_of(text);
  const std::vector<std::string> disabled = {"remove_no_ops"};
  const auto fewer = run_passes(simplify_passes(), graph, {}, disabled);
  ASSERT_TRUE(fewer);
  ASSERT_EQ(fewer->size(), simplify_passes().size());
  for (std::size_t i = 0; i < fewer->size(); ++i) {
    EXPECT_EQ((*fewer)[i].disabled, (*fewer)[i].name == "remove_no_ops");
    EXPECT_EQ((*reports)[i].changes, (*fewer)[i].disabled ? 1 : 0) << (*fewer)[i].name;
    EXPECT_FALSE((*reports)[i].disabled);
  }
  EXPECT_EQ(left_of(graph), "Identity Relu -> y");

  const std::vector<std::string> unknown = {"remove_noops"};
  const auto refused = check_pass_names(simplify_passes(), unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(refused.error().message.find("remove_no_ops"), std::string::npos);
}

/// Passes that write what no run could compute.
Result<int> turn_too_many_axes(Graph& graph, const PassContext&) {
  Node& node = graph.nodes[NodeId{0}];
  node.op = OpKind::kTranspose;
  node.attributes.set("perm", std::vector<std::int64_t>{0, 2, 1});
  return 1;
}
Result<int> read_nothing(Graph& graph, const PassContext&) {
  graph.nodes[NodeId{0}].inputs = {ValueId{}};
  return 1;
}
Result<int> turn_without_a_word(Graph& graph, const PassContext&) {
  graph.nodes[NodeId{0}].op = OpKind::kTranspose;
  return 1;
}

TEST(RunPasses, RefusesWhatAPassWroteWrongly) {
  const std::string plain = "input x f32 [2, 3]\ny = Relu(x) @r\noutput y";
  struct Row {
    Pass pass;
    std::string message;
  };
  for (const Row& row :
       {Row{{"bad", turn_too_many_axes}, "pass bad: Transpose: perm is not a permutation"},
        Row{{"bad", read_nothing}, "pass bad: Relu: "},
        Row{{"bad", turn_without_a_word},
            "pass bad: Transpose: 'y' is float32 2x3 in the graph"}}) {
    Graph graph = graph_of(plain);
    const auto refused = run_passes({&row.pass, 1}, graph, {});
    ASSERT_FALSE(refused) << row.message;
    EXPECT_EQ(refused.error().stage, Stage::kSimplify);
    EXPECT_EQ(refused.error().node, "r");
    EXPECT_TRUE(refused.error().message.starts_with(row.message)) << refused.error().message;
  }
}

/// A pass that counts the graphs that it is called for, as changes.
Result<int> count_graph(Graph&, const PassContext&) { return 1; }

TEST(RunPasses, SkipsGraphsWithoutTheOperatorsThatAPassNeeds) {
  const std::string text = R"(
      input x f32 [2]
      input c bool []
      y = If(c; x)
      body
        input x f32 [2]
        a = Erf(x)
        output a
      end
      body
        input x f32 [2]
        b = Neg(x)
        output b
      end
      output y)";
  struct Row {
    OpKinds needs;
    int graphs;
  };
  for (const Row& row : {Row{{}, 3}, Row{{OpKind::kErf}, 1}, Row{{OpKind::kNeg, OpKind::kErf}, 2},
                         Row{{OpKind::kIf}, 1}, Row{{OpKind::kTanh}, 0}}) {
    Graph graph = graph_of(text);
    const Pass pass = {"count", count_graph, row.needs};
    const auto reports = run_passes({&pass, 1}, graph, {});
    ASSERT_TRUE(reports) << reports.error().to_string();
    EXPECT_EQ(reports->front().changes, row.graphs);
  }
}

TEST(RunPasses, ReportsNearMissesOfEachReasonOnce) {
  Graph graph = graph_of("input x f32 [2]\na = Relu(x) @a\nb = Neg(a) @b\noutput b");
  const auto visit = [](Graph& seen, const PassContext& context) -> Result<int> {
    for (const Node& node : seen.nodes) context.missed("it is no fish", node);
    context.missed("it is green", seen.nodes[NodeId{1}]);
    return 0;
  };
  const Pass passes[] = {{"fish", visit}, {"nothing", dead_code}};
  const auto reports = run_passes(passes, graph, {});
  ASSERT_TRUE(reports) << reports.error().to_string();
  const auto& missed = reports->front().near_misses;
  ASSERT_EQ(missed.size(), 2U);
  EXPECT_EQ(missed[0].reason, "it is no fish");
  EXPECT_EQ(missed[0].node, "a");
  EXPECT_EQ(missed[0].count, 2);
  EXPECT_EQ(missed[1].count, 1);
  EXPECT_TRUE(reports->back().near_misses.empty());
}

}  // namespace
}  // namespace parallax
