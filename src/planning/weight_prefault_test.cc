#include "planning/weight_prefault.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/address_limit_test_util.h"
#include "base/machine/cpu.h"
#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax {
namespace {

TEST(WeightBytes, CountsWhatNodesMultiplyByOnce) {
  auto graph = parse_graph(R"(
    input x f32 [2, 2]
    const a f32 [2, 2] = [1, 2, 3, 4]
    const b f32 [2, 2] = [1, 2, 3, 4]
    const c f32 [2, 2] = [1, 2, 3, 4]
    const d f32 [2, 2] = [1, 2, 3, 4]
    p = MatMul(x, a)
    q = MatMul(p, b)
    r = MatMul(q, a)
    s = MatMul(r, c)
    y = Add(s, d)
    output y)");
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  EXPECT_EQ(weight_bytes(*graph), 3 * 16);
  // As external data may overlap: one begins inside another, one is part of another.
  const auto bytes_of = [&](std::size_t node) -> std::span<const std::byte>& {
    const ValueId weights = graph->nodes[NodeId{static_cast<std::int32_t>(node)}].inputs[1];
    return graph->values[weights].constant->bytes;
  };
  const auto first = bytes_of(0);
  bytes_of(1) = first.subspan(4);
  bytes_of(3) = first.subspan(8, 4);
  EXPECT_EQ(weight_bytes(*graph), 16);
}

TEST(WeightBytes, NothingWhereNoWeightsAre) {
  auto graph = parse_graph(R"(
    input x f32 [2, 2]
    y = MatMul(x, x)
    output y)");
  ASSERT_TRUE(graph);
  EXPECT_EQ(weight_bytes(*graph), 0);
}

TEST(WeightPrefault, DoesNotStartWhereAddressesAreLimited) {
  auto graph = parse_graph(R"(
    input x f32 [2, 1024]
    const w f32 [1024, 1024] = fill 0.5
    y = MatMul(x, w)
    output y)");
  ASSERT_TRUE(graph);
  ASSERT_TRUE(infer_graph(*graph));
  const auto starts = [&] {
    return WeightPrefault(*graph, std::make_shared<GraphContext::Weights>()).started();
  };
  if (!keeps_address_limits()) GTEST_SKIP() << kNoAddressLimits;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(resource, &before), 0);
    if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "limited already";
    EXPECT_EQ(starts(), usable_cpus() > 1);
    rlimit limit = before;
    limit.rlim_cur = rlim_t{1} << 60;
    ASSERT_EQ(::setrlimit(resource, &limit), 0);
    const bool started = starts();
    ASSERT_EQ(::setrlimit(resource, &before), 0);
    EXPECT_FALSE(started);
  }
}

}  // namespace
}  // namespace parallax
