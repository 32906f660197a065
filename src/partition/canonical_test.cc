// Tests the additional steps for partitioning the canonical graph: parts of operators that a
// delegate lacks, the CPU's time of nodes that it fuses, and the graph without its regions.
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"
#include "partition/cpu_share.h"
#include "partition/parts.h"
#include "partition/remainder.h"

namespace parallax {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().to_string();
  if (!graph) return {};
  const Status status = infer_graph(*graph);
  EXPECT_TRUE(status) << status.error().to_string();
  return *std::move(graph);
}

ConcreteShapes shapes_of(const Graph& graph) {
  Binding binding;
  binding.symbols.assign(graph.symbols.size(), 4);
  auto shapes = concrete_shapes(graph, binding);
  EXPECT_TRUE(shapes) << shapes.error().to_string();
  return shapes ? *std::move(shapes) : ConcreteShapes();
}

/// 1e9 MAC/s against the CPU's 1e8, without any launch time.
Delegate gpu_of(std::initializer_list<OpKind> operators) {
  Delegate delegate{"gpu", 0, 1e9, 1e12, 1e8, 1 << 30, {}};
  for (const OpKind op : operators) delegate.operators[op].dtypes = {DType::kF32};
  return delegate;
}

TEST(Parts, AnOperatorThatTheDelegateLacksRunsInParts) {
  const Graph graph = graph_of(R"(
      symbols n
      input x f32 [n, 8]
      const axes i64 [1] = [-1]
      y = ReduceL2(x, axes)
      output y)");
  const ConcreteShapes shapes = shapes_of(graph);
  const Delegate parts = gpu_of({OpKind::kMul, OpKind::kReduceSum, OpKind::kSqrt});
  const Delegate lacks_one = gpu_of({OpKind::kMul, OpKind::kReduceSum});
  EXPECT_FALSE(supported_parts(graph, shapes, NodeId{0}, lacks_one));
  const auto found = supported_parts(graph, shapes, NodeId{0}, parts);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->graph.nodes.size(), 3U);
  EXPECT_EQ(*found->shapes[found->graph.outputs[0]], (Dims{4, 1}));

  EXPECT_EQ(partition(graph, shapes, parts).regions.size(), 1U);
  const Partition none = partition(graph, shapes, lacks_one);
  EXPECT_TRUE(none.regions.empty());
  EXPECT_EQ(cpu_reason(none, NodeId{0}), "operator: gpu has no ReduceL2");
}

TEST(Parts, CostWhatTheirOperatorsCost) {
  const Graph graph = graph_of("input x f32 [1000]\ny = HardSwish(x)\noutput y");
  Delegate delegate = gpu_of({OpKind::kMul, OpKind::kAdd, OpKind::kClip});
  delegate.operators[OpKind::kClip].slowdown = 3;
  const Partition partition = parallax::partition(graph, shapes_of(graph), delegate);
  ASSERT_EQ(partition.regions.size(), 1U);
  EXPECT_DOUBLE_EQ(partition.regions[RegionId{0}].cost.delegate_seconds,
                   6 * 1000 / 1e9 + 8000 / 1e12);
}

TEST(CpuShare, FusedNodesShareWhatTheFusedOneTakes) {
  const Graph canonical = graph_of(R"(
      input x f32 [64, 64]
      const w f32 [64, 64] = fill 0.5
      p = MatMul(x, w) @product
      s = Sigmoid(p) @gate
      m = Mul(p, s) @silu
      t = Transpose(m) @turn
      output t)");
  const Graph lowered = graph_of(R"(
      input x f32 [64, 64]
      const w f32 [64, 64] = fill 0.5
      m = MatMul(x, w) then Silu @silu
      t = Transpose(m) @turn
      output t)");
  const auto by = computed_by(canonical, lowered);
  EXPECT_EQ(by[NodeId{0}], NodeId{0});
  EXPECT_EQ(by[NodeId{1}], NodeId{0});
  EXPECT_EQ(by[NodeId{2}], NodeId{0});
  EXPECT_EQ(by[NodeId{3}], NodeId{1});

  const Delegate delegate = gpu_of({});
  const Calibration none;
  const ConcreteShapes shapes = shapes_of(canonical), lowered_shapes = shapes_of(lowered);
  const Pricer alone(canonical, shapes, delegate, CostModel::kExact, none);
  const Pricer together(lowered, lowered_shapes, delegate, CostModel::kExact, none);
  const auto seconds = cpu_seconds(alone, together, by);
  EXPECT_DOUBLE_EQ(seconds[NodeId{0}] + seconds[NodeId{1}] + seconds[NodeId{2}],
                   64 * 64 * 64 / 1e8);
  EXPECT_DOUBLE_EQ(seconds[NodeId{1}], seconds[NodeId{0}] / 64);
  EXPECT_EQ(seconds[NodeId{3}], 0);
}

constexpr std::string_view kMixed = R"(
    symbols n
    input x f32 [n, 64]
    const w f32 [64, 64] = fill 0.5
    a = MatMul(x, w) @a
    b = Exp(a) @b
    c = Exp(b) @c
    d = MatMul(c, w) @d
    e = Add(a, d) @e
    output e, a)";

TEST(Rest, TogetherWithTheRegionsItIsTheGraph) {
  const Graph graph = graph_of(kMixed);
  const Partition partition =
      parallax::partition(graph, shapes_of(graph), gpu_of({OpKind::kMatMul, OpKind::kAdd}));
  ASSERT_EQ(partition.regions.size(), 2U);
  const Graph rest = cpu_remainder(graph, partition);
  const Status valid = verify(rest, Stage::kPartition);
  ASSERT_TRUE(valid) << valid.error().to_string();
  EXPECT_EQ(rest.nodes.size(), 2U);
  EXPECT_EQ(rest.inputs.size(), 3U) << "x, and a and e of the regions";
  const PartitionedGraph placed = merge_regions(graph, partition, rest);
  const Status whole = verify(placed.graph, Stage::kPartition);
  ASSERT_TRUE(whole) << whole.error().to_string();
  EXPECT_EQ(placed.graph.nodes.size(), graph.nodes.size());
  EXPECT_EQ(placed.graph.inputs.size(), 1U);
  for (const NodeId id : placed.graph.nodes.ids()) {
    const Node& node = placed.graph.nodes[id];
    EXPECT_EQ(placed.region_of[id].valid(), node.op != OpKind::kExp) << node.name;
    EXPECT_EQ(node.name, graph.nodes[id].name) << "the order is that of the graph";
  }
  Graph again = placed.graph;
  ASSERT_TRUE(infer_graph(again));
  EXPECT_EQ(print(again), print(placed.graph)) << "shapes are those of inference";
}

TEST(Rest, NodesOfRegionsGetNamesThatAreNotTaken) {
  Graph graph = graph_of(kMixed);
  for (Node& node : graph.nodes) node.name = "n";
  const Partition partition =
      parallax::partition(graph, shapes_of(graph), gpu_of({OpKind::kMatMul, OpKind::kAdd}));
  Graph rest = cpu_remainder(graph, partition);
  ASSERT_EQ(rest.nodes.size(), 2U);
  rest.values[rest.nodes[NodeId{0}].outputs[0]].name = "d";  // like a result of a pass
  const PartitionedGraph placed = merge_regions(graph, partition, rest);
  std::vector<std::string> nodes, values;
  for (const Node& node : placed.graph.nodes) {
    nodes.push_back(node.name);
    values.push_back(placed.graph.values[node.outputs[0]].name);
  }
  EXPECT_EQ(nodes, (std::vector<std::string>{"n_2", "n", "n", "n_3", "n_4"}));
  EXPECT_EQ(values, (std::vector<std::string>{"a", "d", "c", "d_2", "e"}));
}

/// Regions of `graph`: node by node a letter each, '.' for the rest.
Partition regions_of(const Graph& graph, std::string_view letters) {
  Partition partition;
  for (const NodeId id : graph.nodes.ids()) {
    Placement& place = partition.placement[partition.placement.push_back({})];
    const char letter = letters[static_cast<std::size_t>(id.value)];
    if (letter == '.') continue;
    place.region = RegionId{letter - 'a'};
    while (!partition.regions.contains(place.region)) partition.regions.push_back({});
    partition.regions[place.region].nodes.push_back(id);
  }
  return partition;
}

TEST(Rest, NoChainWaitsForItself) {
  struct Row {
    const char* text;
    const char* regions;
    std::size_t nodes;  ///< number of nodes of the rest when chains are fused
  };
  const Row rows[] = {
      // A region makes b of a; the sum of both cannot be one node with a.
      {"a = Exp(x)\nb = Neg(a)\nc = Add(a, b)\noutput c", ".a.", 2},
      {"a = Exp(x)\nb = Neg(x)\nc = Add(a, b)\noutput c, a", ".a.", 1},
      {"a = Exp(x)\nb = Neg(a)\nc = Abs(b)\nd = Add(a, c)\noutput d", ".ab.", 2},
      {"a = Exp(x)\nb = Neg(a)\nc = Softmax(b)\nd = Abs(c)\ne = Add(a, d)\noutput e", ".a.b.", 3},
      // Region a computes c before it needs d, but the rest receives results only after the whole
      // region.
      {"c = Neg(x)\ng = Softmax(c)\nd = Exp(x)\ne = Abs(d)\nf = Add(d, g)\noutput f, e", "a..a.",
       3},
  };
  for (const Row& row : rows) {
    const Graph graph = graph_of(std::string("input x f32 [4, 4]\n") + row.text);
    const Partition partition = regions_of(graph, row.regions);
    Graph rest = cpu_remainder(graph, partition);
    const std::vector<Detour> detours = detours_of(graph, partition);
    PassContext context;
    context.detours = detours;
    ASSERT_TRUE(fuse_chain(rest, context)) << row.text;
    EXPECT_EQ(rest.nodes.size(), row.nodes) << row.text;
    const PartitionedGraph placed = merge_regions(graph, partition, std::move(rest));
    const Status whole = verify(placed.graph, Stage::kPartition);
    EXPECT_TRUE(whole) << whole.error().to_string() << '\n' << row.text;
  }
}

}  // namespace
}  // namespace parallax
