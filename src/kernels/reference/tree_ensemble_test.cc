#include <gmock/gmock.h>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
Constant list_of(DType dtype, const std::vector<T>& elements) {
  return make_constant(dtype, Dims{static_cast<std::int64_t>(elements.size())},
                       std::as_bytes(std::span(elements)));
}

/// x[0] <= 1 ? (x[1] in {4, 5} ? leaf 0 : leaf 1) : leaf 2, and x[1] > 2 ? leaf 3 : leaf 1.
Attributes two_trees() {
  return test_attributes({{"n_targets", std::int64_t{2}},
                          {"tree_roots", Ints{0, 2}},
                          {"nodes_featureids", Ints{0, 1, 1}},
                          {"nodes_modes", list_of<std::uint8_t>(DType::kU8, {0, 6, 3})},
                          {"nodes_splits", list_of<float>(DType::kF32, {1, 0, 2})},
                          {"nodes_truenodeids", Ints{1, 0, 3}},
                          {"nodes_trueleafs", Ints{0, 1, 1}},
                          {"nodes_falsenodeids", Ints{2, 1, 1}},
                          {"nodes_falseleafs", Ints{1, 1, 1}},
                          {"nodes_missing_value_tracks_true", Ints{1, 0, 0}},
                          {"membership_values", list_of<float>(DType::kF32, {4, 5, kNan})},
                          {"leaf_targetids", Ints{0, 1, 0, 1}},
                          {"leaf_weights", list_of<float>(DType::kF32, {1, 2, 4, 8})}});
}

Tensor feature_row(float a, float b) { return test_tensor<float>({1, 2}, {a, b}); }

Floats votes(float a, float b, const Attributes& attributes) {
  return run_one<float>(OpKind::kTreeEnsemble, test_inputs(feature_row(a, b)), attributes);
}

TEST(ReferenceTreeEnsemble, LeadsEachRowDownEachTree) {
  EXPECT_THAT(votes(1, 4, two_trees()), ElementsAre(1, 8));
  EXPECT_THAT(votes(1, 3, two_trees()), ElementsAre(0, 10));
  EXPECT_THAT(votes(2, 1, two_trees()), ElementsAre(4, 2));
  EXPECT_THAT(votes(kNan, 5, two_trees()), ElementsAre(1, 8));
  EXPECT_THAT(votes(0, kNan, two_trees()), ElementsAre(0, 4));
  EXPECT_TRUE(run_one<float>(OpKind::kTreeEnsemble, test_inputs(test_tensor<float>({0, 2}, {})),
                             two_trees())
                  .empty());
}

TEST(ReferenceTreeEnsemble, AggregatesVotes) {
  const struct {
    std::int64_t aggregate;
    Floats expected;
  } cases[] = {{0, {0, 5}}, {1, {0, 10}}, {2, {0, 2}}, {3, {0, 8}}};
  for (const auto& c : cases) {
    Attributes attributes = two_trees();
    attributes.set("aggregate_function", c.aggregate);
    EXPECT_EQ(votes(1, 3, attributes), c.expected);
  }
}

TEST(ReferenceTreeEnsemble, LeavesMayHaveSeveralVotesOrNone) {
  Attributes attributes = two_trees();
  attributes.set("leaf_begins", Ints{0, 0, 2, 3});
  EXPECT_THAT(votes(1, 4, attributes), ElementsAre(0, 8));
  EXPECT_THAT(votes(1, 1, attributes), ElementsAre(2, 4));
}

TEST(ReferenceTreeEnsemble, RefusesWhatIsNoTree) {
  const struct {
    const char* name;
    AttributeValue value;
    const char* message;
  } cases[] = {
      {"nodes_truenodeids", Ints{0, 0, 3}, "reached twice"},
      {"nodes_truenodeids", Ints{3, 0, 3}, "out of range"},
      {"nodes_truenodeids", Ints{1, -1, 3}, "out of range"},
      {"nodes_falsenodeids", Ints{2, 4, 1}, "out of range"},
      {"nodes_featureids", Ints{0, -1, 1}, "out of range"},
      {"nodes_featureids", Ints{0, 2, 1}, "feature 2"},
      {"nodes_trueleafs", Ints{0, 1}, "differ in length"},
      {"nodes_modes", list_of<std::uint8_t>(DType::kU8, {0, 7, 3}), "unknown mode"},
      {"nodes_modes", list_of<float>(DType::kF32, {0, kNan, 3}), "unknown mode"},
      {"membership_values", list_of<float>(DType::kF32, {}), "too few sets"},
      {"leaf_targetids", Ints{0, 1, 2, 1}, "out of range"},
      {"leaf_begins", Ints{0, 3, 2, 4}, "out of range"},
      {"n_targets", std::int64_t{0}, "out of range"},
      {"tree_roots", Ints{0, 9}, "out of range"},
      {"tree_roots", Ints{0, 1}, "reached twice"},
      {"aggregate_function", std::int64_t{4}, "out of range"},
  };
  for (const auto& c : cases) {
    Attributes attributes = two_trees();
    attributes.set(c.name, c.value);
    EXPECT_THAT(error_of(OpKind::kTreeEnsemble, test_inputs(feature_row(1, 2)), attributes).message,
                HasSubstr(c.message))
        << c.name;
  }
}

}  // namespace
}  // namespace parallax
