// Plans for a described accelerator: its regions come from the canonical graph, the remaining nodes
// run as the CPU fuses them.
#include "planning/delegated_plan.h"

#include <gtest/gtest.h>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

PlanOptions on(const std::string& profile) {
  PlanOptions options;
  options.profile = std::string(PX_SOURCE_DIR) + "/" + profile;
  return options;
}

/// Counts the nodes of the plan that are `op`, on the delegate or on the CPU.
int count(const PlanReport& plan, std::string_view op, bool delegated) {
  int nodes = 0;
  for (const KernelReport& report : plan.kernel_reports)
    if (report.op == op && (report.kernel == "delegate") == delegated) nodes += report.nodes;
  return nodes;
}

TEST(DelegatedPlan, TheCpuFusesItsRestAlone) {
  const Model model = unchained_model_of(R"(
      input x f32 [128, 128]
      const w f32 [128, 128] = fill 0.5
      a = MatMul(x, w)
      b = MatMul(a, w)
      r = Relu(b)
      e = Exp(r)
      s = Sigmoid(e)
      m = Mul(e, s)
      output m)");
  auto session = Session::create(model, {.threads = 2});
  ASSERT_TRUE(session);
  const auto alone = Planner(*session).plan({});
  ASSERT_TRUE(alone) << alone.error().to_string();
  EXPECT_EQ(alone->nodes, 4) << "the activation is in the product, and Silu one node";
  const auto plan = Planner(*session).plan({}, on("tests/golden/small.toml"));
  ASSERT_TRUE(plan) << plan.error().to_string();
  ASSERT_EQ(plan->regions, 1);
  EXPECT_EQ(plan->nodes, 5);
  EXPECT_EQ(count(*plan, "MatMul", true), 2);
  EXPECT_EQ(count(*plan, "Relu", true), 1);
  EXPECT_EQ(count(*plan, "Silu", false), 1);
  ASSERT_EQ(plan->cpu_nodes.size(), 3U);
  EXPECT_EQ(plan->cpu_nodes[1].op, "Sigmoid");
}

TEST(DelegatedPlan, TheCpuJoinsNothingThatWaitsForItselfOverARegion) {
  const Model model = model_of(R"(
      input x f32 [128, 128]
      const w f32 [128, 128] = fill 0.5
      e = Exp(x)
      a = MatMul(e, w)
      b = MatMul(a, w)
      m = Mul(e, b)
      s = Sigmoid(m)
      output s)");
  auto session = Session::create(model, {.threads = 2});
  ASSERT_TRUE(session);
  const auto plan = Planner(*session).plan({}, on("tests/golden/small.toml"));
  ASSERT_TRUE(plan) << plan.error().to_string();
  ASSERT_EQ(plan->regions, 1);
  EXPECT_EQ(count(*plan, "MatMul", true), 2);
  EXPECT_EQ(count(*plan, "Exp", false), 1);
  EXPECT_EQ(count(*plan, "ElementwiseChain", false), 1);
}

TEST(DelegatedPlan, WindowAttentionIsCutAtItsMasksAlone) {
  const auto path = unpacked("swinv2_tiny");
  if (path.empty()) GTEST_SKIP() << "xz is needed to unpack the model";
  const auto model = Model::load(path);
  ASSERT_TRUE(model) << model.error().to_string();
  auto session = Session::create(*model, {.threads = 2});
  ASSERT_TRUE(session);
  std::vector<DimValue> dims;
  for (const std::string& symbol : model->symbols()) dims.push_back({symbol, 1});
  const auto plan = Planner(*session).plan(dims, on("profiles/opencl-mobile.toml"));
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->regions, 6);
  for (const CpuNodeReport& node : plan->cpu_nodes) {
    EXPECT_EQ(node.op, "Add");
    EXPECT_TRUE(node.reason.starts_with("rank: ")) << node.reason;
  }
}

}  // namespace
}  // namespace parallax
