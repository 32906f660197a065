// Tests that a graph split between two sides gives the same results, bit for bit on the reference
// kernels: random graphs, cut anywhere.
#include <gtest/gtest.h>

#include <random>

#include "bind/evaluate.h"
#include "ir/builder.h"
#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/fuse_util.h"
#include "ops/infer.h"
#include "partition/remainder.h"
#include "partition/split/co_execution.h"
#include "partition/split/co_layout.h"
#include "partition/split/co_split.h"
#include "run/run_test_util.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

using Random = std::mt19937;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// Appends random nodes that go on from a value.
class RandomChain {
 public:
  RandomChain(Random& random, Graph& graph) : random_(random), graph_(graph), builder_(graph) {}

  ValueId image(ValueId x);
  ValueId tokens(ValueId x);

 private:
  Dims dims(ValueId id) const {
    Dims result;
    for (const Expr& dim : graph_.values[id].shape) result.push_back(*dim.constant());
    return result;
  }
  ValueId weight(const Dims& of) {
    std::vector<float> elements;
    for (std::int64_t i = 0; i < of.elements(); ++i)
      elements.push_back(static_cast<float>(below(random_, 17) - 8) / 8);
    const std::string name = "w" + std::to_string(graph_.values.size());
    return builder_.constant(name, make_f32(of, elements));
  }
  ValueId add(OpKind op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const NodeId node = builder_.node(op, std::move(inputs), std::move(attributes),
                                      "n" + std::to_string(graph_.nodes.size()));
    LoadQuota quota;
    const Status status = Inference(graph_, quota).infer(node);
    EXPECT_TRUE(status) << status.error().to_string();
    return graph_.nodes[node].outputs[0];
  }
  ValueId ints(const std::vector<std::int64_t>& elements) { return builder_.ints("i", elements); }
  ValueId window(ValueId x, OpKind op);
  ValueId shifted(ValueId x, int axis);
  ValueId attention(ValueId x);

  Random& random_;
  Graph& graph_;
  GraphBuilder builder_;
};

ValueId RandomChain::window(ValueId x, OpKind op) {
  const Dims in = dims(x);
  const std::int64_t kernel = 1 + 2 * below(random_, 3);
  const std::int64_t stride = 1 + below(random_, 2);
  const std::int64_t pad = kernel / 2;
  Attributes attributes;
  attributes.set("kernel_shape", std::vector<std::int64_t>{kernel, kernel});
  attributes.set("strides", std::vector<std::int64_t>{stride, 1});
  attributes.set("pads", std::vector<std::int64_t>{pad, pad, pad, pad});
  if (op != OpKind::kConv) return add(op, {x}, std::move(attributes));
  return add(op, {x, weight({in[1], in[1], kernel, kernel}), weight({in[1]})},
             std::move(attributes));
}

/// Moves the last rows to the front, as windows are shifted.
ValueId RandomChain::shifted(ValueId x, int axis) {
  const std::int64_t all = dims(x)[axis], by = 1 + below(random_, 3);
  const ValueId a = add(OpKind::kSlice, {x, ints({by}), ints({all}), ints({axis})});
  const ValueId b = add(OpKind::kSlice, {x, ints({0}), ints({by}), ints({axis})});
  Attributes attributes;
  attributes.set("axis", std::int64_t{axis});
  return add(OpKind::kConcat, {a, b}, std::move(attributes));
}

ValueId RandomChain::image(ValueId x) {
  Attributes nearest;
  nearest.set("coordinate_transformation_mode", std::string("asymmetric"));
  nearest.set("nearest_mode", std::string("floor"));
  switch (below(random_, 8)) {
    case 0:
    case 1:
      return window(x, OpKind::kConv);
    case 2:
      return window(x, OpKind::kMaxPool);
    case 3:
      return window(x, OpKind::kAveragePool);
    case 4:
      return add(OpKind::kAdd, {x, add(OpKind::kRelu, {x})});
    case 5:
      if (dims(x)[2] > 24) return x;
      return add(OpKind::kResize,
                 {x, ValueId{}, weight({0}), ints({1, dims(x)[1], dims(x)[2] * 2, dims(x)[3]})},
                 nearest);
    case 6:
      return shifted(x, 2);
    default:
      return add(OpKind::kPad, {x, ints({0, 0, below(random_, 3), 1, 0, 0, below(random_, 3), 0})});
  }
}

ValueId RandomChain::attention(ValueId x) {
  const Dims in = dims(x);
  const std::int64_t rows = in[1], width = in[2];
  const auto heads = [&](std::vector<std::int64_t> perm) {
    const ValueId y = add(OpKind::kMatMul, {x, weight({width, width})});
    Attributes attributes;
    attributes.set("perm", std::move(perm));
    return add(OpKind::kTranspose, {add(OpKind::kReshape, {y, ints({1, rows, 2, width / 2})})},
               std::move(attributes));
  };
  const ValueId scores =
      add(OpKind::kSoftmax, {add(OpKind::kMatMul, {heads({0, 2, 1, 3}), heads({0, 2, 3, 1})})});
  Attributes back;
  back.set("perm", std::vector<std::int64_t>{0, 2, 1, 3});
  const ValueId y = add(OpKind::kTranspose, {add(OpKind::kMatMul, {scores, heads({0, 2, 1, 3})})},
                        std::move(back));
  return add(OpKind::kAdd, {x, add(OpKind::kReshape, {y, ints({1, rows, width})})});
}

ValueId RandomChain::tokens(ValueId x) {
  const Dims in = dims(x);
  switch (below(random_, 7)) {
    case 0:
      return add(OpKind::kMatMul, {x, weight({in[2], in[2]})});
    case 1:
      return add(OpKind::kLayerNormalization, {x, weight({in[2]}), weight({in[2]})});
    case 2:
      return add(OpKind::kMul, {x, weight({in[1], 1})});
    case 3:
      return attention(x);
    case 4:
      return shifted(x, 1);
    case 5: {
      const ValueId flat = add(OpKind::kReshape, {x, ints({in[1], in[2]})});
      return add(OpKind::kReshape, {add(OpKind::kTanh, {flat}), ints({1, in[1], in[2]})});
    }
    default:
      return add(OpKind::kAdd, {x, add(OpKind::kReduceMean, {x, ints({2})})});
  }
}

Graph random_graph(Random& random) {
  Graph graph;
  graph.name = "random";
  RandomChain chain(random, graph);
  const bool image = below(random, 2) == 0;
  ValueId x = GraphBuilder(graph).input(
      "x", DType::kF32, image ? Shape{1, 3, 7 + below(random, 20), 6} : Shape{1, 12, 8});
  for (int i = 0; i < 8; ++i) {
    x = image ? chain.image(x) : chain.tokens(x);
    if (i == 7 || below(random, 6) == 0) graph.outputs.push_back(x);
  }
  return graph;
}

CoCosts random_costs(Random& random, const Graph& graph) {
  CoCosts costs;
  for ([[maybe_unused]] const NodeId node : graph.nodes.ids()) {
    costs.cpu.push_back(1e-3 * (1 + below(random, 10)));
    costs.device.push_back(1e-3 * (1 + below(random, 10)));
    costs.can_run.push_back(below(random, 4) != 0);
  }
  costs.region_seconds = 1e-4 * below(random, 20);
  costs.copied_bytes_per_second = costs.read_bytes_per_second = 1e9;
  return costs;
}

Inputs random_inputs(Random& random, const Graph& graph) {
  Inputs inputs;
  for (const ValueId id : graph.inputs) {
    std::vector<float> elements;
    std::int64_t count = 1;
    for (const Expr& dim : graph.values[id].shape) count *= *dim.constant();
    for (std::int64_t i = 0; i < count; ++i)
      elements.push_back(static_cast<float>(below(random, 1000) - 500) / 100);
    inputs.push_back(bytes_of(elements));
  }
  return inputs;
}

/// Expects that no edge leads to an earlier stage, and that shapes are those of inference.
void check_split(const CoGraph& split) {
  const Status valid = verify(split.graph, Stage::kPartition);
  ASSERT_TRUE(valid) << valid.error().to_string();
  for (const NodeId id : split.graph.nodes.ids()) {
    for (const ValueId input : split.graph.nodes[id].inputs) {
      if (!input.valid() || split.graph.values[input].kind != ValueKind::kResult) continue;
      const NodeId from = split.graph.values[input].producer;
      EXPECT_LE(split.nodes[from].stage, split.nodes[id].stage) << split.graph.nodes[id].name;
    }
  }
  Graph inferred = split.graph;
  const Status status = infer_graph(inferred);
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(print(inferred), print(split.graph));
}

/// Transposes images as if each stage of the device were one region.
int turn_images(CoGraph& split) {
  IdVector<NodeId, RegionId> region_of;
  for (const CoNode& node : split.nodes)
    region_of.push_back(node.side == CoSide::kDevice ? RegionId{node.stage} : RegionId{});
  return turn_crossing_images(region_of, split.graph, split.nodes);
}

TEST(CoExecution, SplitGraphsGiveTheSameBits) {
  int split_nodes = 0, turned = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random);
    const auto shapes = concrete_shapes(graph, {});
    ASSERT_TRUE(shapes) << shapes.error().to_string();
    const CoCosts costs = random_costs(random, graph);
    const RowAxes axes =
        row_axes(graph, *shapes, below(random, 2) == 0 ? RowChoice::kRows : RowChoice::kFilters);
    const CoPlan plan = plan_stretches(graph, *shapes, axes, costs, (1 + below(random, 14)) / 16.0);
    CoGraph split = split_graph(graph, *shapes, axes, plan, costs.can_run);
    if (seed % 2 == 1) turned += turn_images(split);
    for (const CoNode& node : split.nodes) split_nodes += node.side == CoSide::kDevice ? 1 : 0;
    check_split(split);
    const Inputs inputs = random_inputs(random, graph);
    const auto expected = run(std::make_shared<GraphContext>(graph), inputs);
    const auto got = run(std::make_shared<GraphContext>(split.graph), inputs);
    ASSERT_TRUE(expected) << expected.error().to_string();
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < got->size(); ++i) {
      ASSERT_EQ((*got)[i].dims(), (*expected)[i].dims()) << seed;
      const auto a = (*got)[i].view().bytes, b = (*expected)[i].view().bytes;
      ASSERT_TRUE(std::ranges::equal(a, b)) << "seed " << seed << "\n"
                                            << print(graph) << print(split.graph);
    }
  }
  EXPECT_GT(split_nodes, 300) << "the test splits nothing";
  EXPECT_GT(turned, 20) << "the test turns nothing";
}

/// Returns the operators after the CPU's lowering of the nodes of `region`; invalid: nodes of no
/// region.
std::string lowered(const Graph& graph, const IdVector<NodeId, RegionId>& region_of,
                    RegionId region) {
  Partition others;
  for (const NodeId id : graph.nodes.ids())
    others.placement.push_back({region_of[id] == region ? RegionId{} : RegionId{0}, {}, {}, {}});
  Graph own = cpu_remainder(graph, others);
  const auto done = run_passes(lowering_passes(), own, {evaluate_node});
  EXPECT_TRUE(done) << done.error().to_string();
  return operators_of(own);
}

TEST(CoExecution, ImagesThatCrossAreTurnedByNobody) {
  Graph graph = graph_of(R"(
      input x f32 [1, 3, 8, 8]
      const w f32 [4, 3, 1, 1] = fill 0.5
      const v f32 [4, 4, 1, 1] = fill 0.5
      a = Conv(x, w)
      b = Relu(a)
      c = Conv(b, v)
      d = Sigmoid(c)
      e = Conv(d, v)
      f = Add(e, b)
      g = GlobalAveragePool(f)
      output g)");
  IdVector<NodeId, RegionId> region_of(graph.nodes.size());
  region_of[NodeId{2}] = region_of[NodeId{3}] = RegionId{7};
  IdVector<NodeId, CoNode> nodes(graph.nodes.size());
  for (const NodeId id : nodes.ids())
    if (region_of[id].valid()) nodes[id].side = CoSide::kDevice;
  EXPECT_EQ(turn_crossing_images(region_of, graph, nodes), 2);
  EXPECT_EQ(operators_of(graph),
            "Conv Relu Transpose Transpose Conv Sigmoid Transpose Transpose Conv Add "
            "GlobalAveragePool");
  check_split({graph, nodes});
  region_of = {};
  for (const CoNode& node : nodes)
    region_of.push_back(node.side == CoSide::kDevice ? RegionId{7} : RegionId{});
  EXPECT_EQ(lowered(graph, region_of, RegionId{7}), "Conv Identity");
  EXPECT_EQ(lowered(graph, region_of, {}),
            "Transpose Conv Identity Conv GlobalAveragePool Reshape");
}

TEST(CoExecution, ImagesThatNoConvolutionTakesStayAsTheyAre) {
  Graph graph = graph_of(R"(
      input x f32 [1, 3, 8, 8]
      const w f32 [4, 3, 1, 1] = fill 0.5
      const s i64 [2] = [4, 64]
      a = Conv(x, w)
      b = Reshape(a, s)
      output b)");
  IdVector<NodeId, RegionId> region_of(graph.nodes.size());
  region_of[NodeId{0}] = RegionId{0};
  IdVector<NodeId, CoNode> nodes(graph.nodes.size());
  EXPECT_EQ(turn_crossing_images(region_of, graph, nodes), 0);
  EXPECT_EQ(operators_of(graph), "Conv Reshape");
}

}  // namespace
}  // namespace parallax
