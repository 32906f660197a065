// Tests regions whose sizes become known during a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "partition/partition_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

// Rows that only running tells: 256 * 64 * 64 MAC are assumed, 10 ms on the CPU.
constexpr std::string_view kPickedRows = R"(
input x f32 [64, 64]
input s i64 [2]
const w f32 [64, 64] = fill 0.5
const zero i64 [] = [0]
k = MatMul(x, w)
r = Relu(k)
m = NonZero(r)
row = Gather(m, zero)
y = Gather(r, row)
b = MatMul(y, w)
c = Relu(b)
d = Add(c, y)
e = Reshape(d, s)
f = Relu(e)
output d, f
)";

Partition with_run_time(const Planned& planned, const Delegate& delegate,
                        PartitionOptions options = {}) {
  options.assumed = assumed_shapes(planned.graph, {});
  Partition result = partition(planned.graph, planned.shapes, delegate, options);
  add_run_time_regions(planned.graph, planned.shapes, delegate, options, result);
  return result;
}

TEST(Partition, SizesThatOnlyRunningTellsAreRegionsOfTheirOwn) {
  const Planned planned = make_planned(kPickedRows);
  Delegate delegate = gpu();
  const Partition none = with_run_time(planned, delegate);
  ASSERT_EQ(none.regions.size(), 1U);
  EXPECT_EQ(cpu_reason(none, NodeId{5}), "dynamic-shape: the size of 'y' depends on values");

  delegate.dynamic_shapes = true;
  const Partition result = with_run_time(planned, delegate);
  ASSERT_EQ(result.regions.size(), 2U);
  EXPECT_FALSE(result.regions[RegionId{0}].run_time);
  const Region& picked = result.regions[RegionId{1}];
  EXPECT_TRUE(picked.run_time);
  EXPECT_EQ(picked.nodes, (std::vector{NodeId{5}, NodeId{6}, NodeId{7}}));
  EXPECT_EQ(picked.cost.macs, 256 * 64 * 64 + 2 * 256 * 64);
  EXPECT_THAT(picked.verdict.detail, HasSubstr("; sizes that only running tells taken as 256"));
  EXPECT_GT(result.seconds, none.seconds) << "what only running tells took no time before";
  EXPECT_THAT(cpu_reason(result, NodeId{8}),
              "dynamic-shape: 's' decides a size, and only running tells it");
  EXPECT_THAT(cpu_reason(result, NodeId{2}), HasSubstr("operator: "));
  EXPECT_THAT(cpu_reason(result, NodeId{9}), HasSubstr("loses: "));
  EXPECT_EQ(result.returned.size(), 1U);
}

TEST(Partition, KnownSizesAreNotJoinedToThoseThatOnlyRunningTells) {
  const Planned planned = make_planned(R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
const zero i64 [] = [0]
k = MatMul(x, w)
m = NonZero(x)
row = Gather(m, zero)
y = Gather(x, row)
b = MatMul(y, k)
output b
)");
  Delegate delegate = gpu();
  delegate.dynamic_shapes = true;
  delegate.operators[OpKind::kNonZero].dtypes = {DType::kF32, DType::kI64};
  const Partition result = with_run_time(planned, delegate, {.offload = Offload::kAll});
  ASSERT_EQ(result.regions.size(), 2U);
  EXPECT_EQ(result.regions[RegionId{0}].nodes, std::vector{NodeId{0}});
  EXPECT_EQ(result.regions[RegionId{1}].nodes, std::vector{NodeId{4}});
  EXPECT_EQ(cpu_reason(result, NodeId{1}),
            "dynamic-shape: only the node itself tells the size of 'm'");
  const Partition one = with_run_time(planned, delegate, {.max_regions = 1});
  ASSERT_EQ(one.regions.size(), 1U);
  EXPECT_FALSE(one.regions[RegionId{0}].run_time);
}

TEST(Partition, PinnedRegionsMayHaveSizesThatOnlyRunningTells) {
  const Planned planned = make_planned(kPickedRows);
  Delegate delegate = gpu();
  delegate.dynamic_shapes = true;
  PartitionOptions options;
  options.assumed = assumed_shapes(planned.graph, {});
  const auto pinned = [&](const std::vector<std::vector<NodeId>>& regions) {
    return pinned_partition(planned.graph, planned.shapes, delegate, options, regions);
  };
  const auto both = pinned({{NodeId{5}, NodeId{6}}, {NodeId{0}}});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->regions[RegionId{0}].run_time);
  EXPECT_TRUE(both->regions[RegionId{1}].run_time);
  EXPECT_EQ(both->placement[NodeId{7}].reason, CpuReason::kPinned);
  const auto mixed = pinned({{NodeId{1}, NodeId{6}}});
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("only running tells some sizes of the region"));
  EXPECT_THAT(pinned({{NodeId{8}}}).error().message, HasSubstr("'s' decides a size"));
  delegate.dynamic_shapes = false;
  EXPECT_THAT(pinned({{NodeId{5}}}).error().message, HasSubstr("depends on values"));
}

}  // namespace
}  // namespace parallax
