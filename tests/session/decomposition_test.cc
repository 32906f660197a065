// Every operator that has a decomposition, against that, on random shapes, attributes and numbers:
// on the reference kernels and on the best ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"
#include "parallax/session.h"
#include "session/fused_makers_test_util.h"
#include "session/model_impl.h"
#include "session/numbers_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using node_makers::kMakers;
using node_makers::Maker;

/// The outputs of one run of the graph as it is, or behind the passes that are not `disabled`.
Result<std::vector<Tensor>> run(const Graph& graph, Kernels kernels,
                                const std::vector<Tensor>& tensors,
                                std::vector<std::string> disabled = Model::passes()) {
  LoadOptions options;
  options.disabled_passes = std::move(disabled);
  auto model = Model::Impl::make(graph, options);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, {.threads = 1, .kernels = kernels});
  if (!session) return tl::unexpected(session.error());
  std::vector<NamedInput> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model->inputs()[i].name, tensors[i].view()});
  return session->run(inputs);
}

class DecompositionTest : public testing::TestWithParam<Decomposition> {};

/// `special` in one of the inputs, at one place or everywhere.
std::vector<Tensor> inputs_of(const Graph& graph, std::optional<float> special, unsigned seed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    Dims dims;
    for (const Expr& dim : graph.values[graph.inputs[i]].shape) dims.push_back(*dim.constant());
    const bool here = seed % graph.inputs.size() == i;
    tensors.push_back(test_input(graph.values[graph.inputs[i]].dtype, dims,
                                 here ? special : std::nullopt, seed % 3 == 0,
                                 seed + static_cast<unsigned>(i)));
  }
  return tensors;
}

TEST_P(DecompositionTest, GivesWhatTheFusedOperatorGives) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Decomposition& form = GetParam();
  ASSERT_TRUE(kMakers.contains(form.name)) << "a new form needs a row in kMakers";
  int made = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Maker maker(seed);
    kMakers.at(form.name)(maker);
    const Graph fused = maker.graph;
    Graph graph = fused;
    if (!infer_graph(graph)) continue;  // without elements in the wrong place
    ++made;
    Graph parts = graph;
    ASSERT_TRUE(form.applies(parts.nodes[NodeId{0}])) << print(graph);
    for (const auto forms : {cpu_decompositions(), std::span(&form, 1)}) {
      const auto changes = decompose(parts, forms);
      ASSERT_TRUE(changes) << changes.error().to_string() << "\n" << print(graph);
    }
    ASSERT_FALSE(form.applies(parts.nodes[NodeId{0}])) << print(parts);
    for (const Node& node : parts.nodes) {
      const Status of_models = check_node(node, NodeOrigin::kFile);
      ASSERT_TRUE(of_models) << of_models.error().to_string() << "\n" << print(parts);
    }
    const bool spreads = graph.nodes[NodeId{0}].op == OpKind::kConv;
    for (const auto special : {std::optional<float>{}, std::optional(-0.0F),
                               std::optional(std::numeric_limits<float>::quiet_NaN()),
                               std::optional(kInfinity), std::optional(-kInfinity)}) {
      const auto inputs = inputs_of(graph, special, seed);
      const auto wanted = run(parts, Kernels::kReference, inputs);
      ASSERT_TRUE(wanted) << wanted.error().to_string() << "\n" << print(parts);
      for (const Kernels kernels : {Kernels::kReference, Kernels::kBest}) {
        const auto got = run(graph, kernels, inputs);
        ASSERT_TRUE(got) << got.error().to_string() << "\n" << print(graph);
        ASSERT_EQ(got->size(), wanted->size());
        for (std::size_t i = 0; i < got->size(); ++i)
          EXPECT_EQ(problem((*got)[i], (*wanted)[i], spreads && kernels == Kernels::kBest, true),
                    "")
              << "seed " << seed << ", " << special.value_or(1) << ", kernels "
              << static_cast<int>(kernels) << "\n"
              << print(graph) << print(parts);
      }
    }
  }
  EXPECT_GE(made, 100);
}

TEST(ElementwiseChain, HasTheBitsOfItsOperators) {
  for (unsigned seed = 1000; seed < 1150; ++seed) {
    Maker maker(seed);
    node_makers::make_chain(maker);
    Graph graph = maker.graph;
    ASSERT_TRUE(infer_graph(graph)) << print(graph);
    Graph parts = graph;
    ASSERT_TRUE(decompose(parts, pattern_decompositions().first(1)));
    const auto special = seed % 2 == 0 ? std::nullopt : std::optional(-0.0F);
    const auto inputs = inputs_of(graph, special, seed);
    const auto wanted = run(parts, Kernels::kBest, inputs, {"fuse_chain"});
    const auto chained = run(parts, Kernels::kBest, inputs, {});
    const auto got = run(graph, Kernels::kBest, inputs);
    ASSERT_TRUE(wanted && chained && got) << print(graph);
    EXPECT_TRUE(same_bits(*got, *wanted)) << seed << "\n" << print(graph) << print(parts);
    EXPECT_TRUE(same_bits(*chained, *wanted)) << seed << "\n" << print(parts);
  }
}

std::string name_of(const testing::TestParamInfo<Decomposition>& form) {
  std::string name(form.param.name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Forms, DecompositionTest,
                         testing::ValuesIn(cpu_decompositions().begin(),
                                           cpu_decompositions().end()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OfModels, DecompositionTest,
                         testing::ValuesIn(model_decompositions().begin(),
                                           model_decompositions().end()),
                         name_of);

}  // namespace
}  // namespace parallax
