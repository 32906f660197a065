#include "device/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/profile_toml.h"
#include "ir/text/text.h"
#include "ops/infer.h"
#include "partition/partition.h"
#include "partition/region_key.h"

namespace parallax {
namespace {

using testing::HasSubstr;

struct Timed {
  Graph graph;
  ConcreteShapes shapes;
};
Timed timed_graph(std::string_view text) {
  Timed timed;
  timed.graph = *parse_graph(text);
  EXPECT_TRUE(infer_graph(timed.graph));
  timed.shapes = *concrete_shapes(timed.graph, Binding{});
  return timed;
}

TEST(WorkRates, DrawsStraightLinesBetweenSamples) {
  Calibration calibration;
  calibration.samples = {{WorkKind::kProduct, 1e-3, 2e-3, 6e-4},
                         {WorkKind::kProduct, 1e-5, 3e-5, 1e-4}};
  const WorkRates rates(calibration);
  struct Row {
    double predicted, cpu, delegate;
  };
  for (const Row& row :
       {Row{1e-5, 3e-5, 1e-4}, Row{1e-3, 2e-3, 6e-4}, Row{4e-3, 8e-3, 24e-4},
        // Half way.
        Row{(1e-5 + 1e-3) / 2, (3e-5 + 2e-3) / 2, (1e-4 + 6e-4) / 2}, Row{0, 0, 0}}) {
    EXPECT_NEAR(rates.cpu(WorkKind::kProduct, row.predicted), row.cpu, 1e-12) << row.predicted;
    EXPECT_NEAR(rates.delegate(WorkKind::kProduct, row.predicted), row.delegate, 1e-12);
  }
  // The overhead of each piece of work on the device does not vanish with its size.
  EXPECT_GT(rates.delegate(WorkKind::kProduct, 1e-7), 9e-5);
  EXPECT_LT(rates.cpu(WorkKind::kProduct, 1e-7), 3e-5);
  // For other kinds the mean is used.
  EXPECT_NEAR(rates.cpu(WorkKind::kPool, 1e-4), 1e-4 * std::sqrt(2 * 3), 1e-9);
  EXPECT_EQ(WorkRates(Calibration{}).cpu(WorkKind::kPool, 1e-4), 1e-4);
}

TEST(RegionFactor, IsTheMedianWithinLimits) {
  Calibration calibration;
  EXPECT_EQ(region_factor(calibration), 1);
  calibration.regions = {{1, "a", 1, 1.5}, {2, "b", 1, 1000}, {3, "c", 1, 1.2}};
  EXPECT_EQ(region_factor(calibration), 1.5);
  calibration.regions.resize(1);
  calibration.regions[0].seconds = 100;
  EXPECT_EQ(region_factor(calibration), 4);
}

TEST(RegionKey, BelongsToNodesAndSizesNotToIds) {
  const Timed a = timed_graph("input x f32 [4]\ny = Neg(x) @n\nz = Exp(y) @e\noutput z");
  const Timed b = timed_graph(
      "input w f32 [9]\nv = Abs(w)\ninput x f32 [4]\ny = Neg(x) @n\nz = Exp(y) @e\n"
      "output z, v");
  const Timed c = timed_graph("input x f32 [5]\ny = Neg(x) @n\nz = Exp(y) @e\noutput z");
  const auto key = [](const Timed& timed, std::vector<NodeId> nodes) {
    return region_key(node_keys(timed.graph, timed.shapes), nodes);
  };
  const std::uint64_t both = key(a, {NodeId{0}, NodeId{1}});
  EXPECT_EQ(both, key(a, {NodeId{1}, NodeId{0}}));
  EXPECT_EQ(both, key(b, {NodeId{1}, NodeId{2}}));
  EXPECT_NE(both, key(c, {NodeId{0}, NodeId{1}}));
  EXPECT_NE(both, key(a, {NodeId{0}}));
}

/// Two products with an operator in between that it does not run.
constexpr std::string_view kProducts = R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
a = MatMul(x, w) @a
b = Relu(a) @b
c = Exp(b) @c
d = MatMul(c, w) @d
output d
)";
Delegate product_device() {
  Delegate delegate{"gpu", 1e-3, 1e9, 1e9, 1e8, 1 << 30, {}};
  for (const OpKind op : {OpKind::kMatMul, OpKind::kRelu})
    delegate.operators[op].dtypes = {DType::kF32};
  return delegate;
}

TEST(MeasuredPartition, GoesByWhatRunsOfARegionTook) {
  const Timed timed = timed_graph(kProducts);
  PartitionOptions options;
  options.model = CostModel::kMeasured;
  const Partition first = partition(timed.graph, timed.shapes, product_device(), options);
  ASSERT_EQ(first.regions.size(), 2U);
  const RegionCost& cost = first.regions[RegionId{0}].cost;
  EXPECT_FALSE(cost.timed);
  ASSERT_NE(cost.key, 0U);
  options.calibration.regions = {{cost.key, "a", cost.by_rates, 0.5}};
  const Partition second = partition(timed.graph, timed.shapes, product_device(), options);
  ASSERT_EQ(second.returned.size(), 2U) << "the other one takes four times as long, it seems";
  EXPECT_TRUE(second.returned[RegionId{0}].cost.timed);
  EXPECT_THAT(second.returned[RegionId{0}].verdict.detail,
              HasSubstr("500 ms offloaded, as runs took, >= 2.6"));
  // A second sample reduces its influence on other regions.
  options.calibration.regions.push_back({77, "other", 1, 1});
  options.calibration.regions.push_back({78, "other", 1, 1});
  const Partition third = partition(timed.graph, timed.shapes, product_device(), options);
  ASSERT_EQ(third.regions.size(), 1U);
  EXPECT_EQ(timed.graph.nodes[third.regions[RegionId{0}].nodes[0]].name, "d");
}

TEST(PinnedPartition, HasThatOrRefuses) {
  const Timed timed = timed_graph(kProducts);
  const auto pinned = [&](const std::vector<std::vector<NodeId>>& regions) {
    return pinned_partition(timed.graph, timed.shapes, product_device(), {}, regions);
  };
  const NodeId a{0}, b{1}, c{2}, d{3};
  const auto one = pinned({{b, a}});
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->regions.size(), 1U);
  EXPECT_EQ(one->regions[RegionId{0}].nodes, (std::vector<NodeId>{a, b}));
  EXPECT_THAT(cpu_reason(*one, c), HasSubstr("operator"));
  EXPECT_THAT(cpu_reason(*one, d), HasSubstr("pinned"));
  EXPECT_GT(one->seconds, 0);
  const auto none = pinned({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->regions.empty());
  struct Row {
    std::vector<std::vector<NodeId>> regions;
    const char* message;
  };
  for (const Row& row : {Row{{{a, c}}, "does not run node 'c'"}, Row{{{a}, {b, a}}, "twice"},
                         Row{{{}}, "without nodes"}, Row{{{a, d}}, "wait for each other"}}) {
    const auto refused = pinned(row.regions);
    ASSERT_FALSE(refused) << row.message;
    EXPECT_THAT(refused.error().message, HasSubstr(row.message));
  }
}

TEST(Calibration, SamplesAndRegionsAreReadOrRefused) {
  constexpr std::string_view kSample =
      "[[samples]]\nkind = \"pool\"\npredicted = 1e-3\ncpu = 2e-3\ndelegate = 3e-3\n";
  constexpr std::string_view kRegion =
      "[[regions]]\nkey = -5\nnode = \"n\"\npredicted = 1e-3\nseconds = 2e-3\n";
  const auto read = parse_calibration(std::string(kSample) + std::string(kRegion), "c.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->has_samples_of(WorkKind::kPool));
  EXPECT_FALSE(read->has_samples_of(WorkKind::kProduct));
  EXPECT_EQ(read->samples[0].delegate, 3e-3);
  EXPECT_EQ(read->regions[0].key, static_cast<std::uint64_t>(-5));
  for (const std::string_view text :
       {"samples = 3", "[[samples]]\nkind = \"pool\"", "regions = [1]",
        "[samples]\nkind = \"pool\"",
        "[[samples]]\nkind = \"x\"\npredicted = 1e-3\ncpu = 2e-3\ndelegate = 3e-3",
        "[[samples]]\nkind = \"pool\"\npredicted = 0\ncpu = 2e-3\ndelegate = 3e-3",
        "[[samples]]\nkind = \"pool\"\npredicted = 1\ncpu = nan\ndelegate = 3e-3",
        "[[regions]]\nkey = 1.5\nnode = \"n\"\npredicted = 1e-3\nseconds = 2e-3"}) {
    const auto refused = parse_calibration(text, "c.toml");
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, HasSubstr("c.toml:"));
  }
}

}  // namespace
}  // namespace parallax
