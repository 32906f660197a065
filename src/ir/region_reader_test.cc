#include "ir/region_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace parallax {
namespace {

/// The structs of y = Reshape(Add(x, w), s): x is f32 [n, 2], w a constant of two elements, and s
/// is known when sizes are bound. Add has an attribute, which the reader does not judge.
struct CRegion {
  CRegion() {
    const auto tensor = [](px_dtype dtype, std::vector<std::int64_t>& dims, void* data,
                           std::size_t bytes) {
      return px_tensor{sizeof(px_tensor), dtype, static_cast<std::int32_t>(dims.size()),
                       dims.data(),       data,  bytes};
    };
    weight = tensor(PX_FLOAT32, two, weights.data(), sizeof weights);
    types = {px_type{sizeof(px_type), PX_FLOAT32, 2, rows.data(), symbols.data()},
             px_type{sizeof(px_type), PX_FLOAT32, 1, two.data(), &symbols[1]},
             px_type{sizeof(px_type), PX_INT64, 1, two.data(), &symbols[1]}};
    values = {px_value{sizeof(px_value), "x", &types[0], nullptr, 0},
              px_value{sizeof(px_value), "w", &types[1], &weight, 0},
              px_value{sizeof(px_value), "s", &types[2], nullptr, 1},
              px_value{sizeof(px_value), "a", &types[0], nullptr, 0},
              px_value{sizeof(px_value), "y", &types[0], nullptr, 0}};
    attribute = {
        sizeof(px_attribute), "axis", PX_ATTRIBUTE_TENSOR, 0, nullptr, nullptr, nullptr, &weight};
    nodes = {px_node{sizeof(px_node), "Add", "add", 1, &attributes[0], 2, &ids[0], 1, &ids[2]},
             px_node{sizeof(px_node), "Reshape", "shape", 0, nullptr, 2, &ids[3], 1, &ids[5]}};
    region = {sizeof(px_region), "add", 5,       value_list.data(), 2, node_list.data(), 1,
              &ids[0],           1,     &ids[5], PX_FLOAT32};
    sized = {tensor(PX_FLOAT32, three_rows, nullptr, 0), weight,
             tensor(PX_INT64, two, shape.data(), sizeof shape),
             tensor(PX_FLOAT32, three_rows, nullptr, 0),
             tensor(PX_FLOAT32, three_rows, nullptr, 0)};
    sizes = {sizeof(px_sizes), 5, size_list.data()};
  }
  CRegion(const CRegion&) = delete;
  CRegion& operator=(const CRegion&) = delete;

  std::array<float, 2> weights = {1, 2};
  std::array<std::int64_t, 2> shape = {3, 2};
  std::vector<std::int64_t> rows = {-1, 2}, three_rows = {3, 2}, two = {2};
  std::array<const char*, 2> symbols = {"n", nullptr};
  std::array<std::int32_t, 6> ids = {0, 1, 3, 3, 2, 4};
  px_tensor weight{};
  std::array<px_type, 3> types{};
  std::array<px_value, 5> values{};
  px_attribute attribute{};
  std::array<px_node, 2> nodes{};
  std::array<const px_value*, 5> value_list = {&values[0], &values[1], &values[2], &values[3],
                                               &values[4]};
  std::array<const px_attribute*, 1> attributes = {&attribute};
  std::array<const px_node*, 2> node_list = {&nodes[0], &nodes[1]};
  px_region region{};
  std::array<px_tensor, 5> sized{};
  std::array<const px_tensor*, 5> size_list = {&sized[0], &sized[1], &sized[2], &sized[3],
                                               &sized[4]};
  px_sizes sizes{};
};

TEST(RegionReader, KeepsValuesConstantsAndSymbols) {
  const CRegion sample;
  const auto graph = read_region(&sample.region);
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_EQ(graph->values.size(), 5U);
  const std::array kinds = {ValueKind::kInput, ValueKind::kConstant, ValueKind::kSymbolic,
                            ValueKind::kResult, ValueKind::kResult};
  for (const ValueId id : graph->values.ids())
    EXPECT_EQ(graph->values[id].kind, kinds[static_cast<std::size_t>(id.value)]) << id.value;
  EXPECT_EQ(graph->values[ValueId{0}].shape, graph->values[ValueId{4}].shape) << "one symbol";
  EXPECT_EQ(static_cast<const void*>(graph->values[ValueId{1}].constant->bytes.data()),
            sample.weights.data());
  const auto* const copy = std::get_if<Constant>(graph->nodes[NodeId{0}].attributes.find("axis"));
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(static_cast<const void*>(copy->bytes.data()), sample.weights.data());
}

TEST(RegionReader, PutsSizesIn) {
  const CRegion sample;
  const auto graph = with_sizes(*read_region(&sample.region), &sample.sizes);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->symbols.size(), 0U);
  EXPECT_EQ(graph->values[ValueId{4}].shape, (Shape{3, 2}));
  const Value& known = graph->values[ValueId{2}];
  EXPECT_EQ(known.kind, ValueKind::kConstant);
  EXPECT_EQ(integers(*known.constant), (std::vector<std::int64_t>{3, 2}));
}

struct Wrong {
  const char* what;
  std::function<void(CRegion&)> change;
  ErrorCode code = ErrorCode::kInvalidInput;
};

TEST(RegionReader, RefusesRegionsThatContradictThemselves) {
  const std::vector<Wrong> wrong = {
      {"no size", [](CRegion& c) { c.region.size = 0; }},
      {"an operator", [](CRegion& c) { c.nodes[0].op = "Nonsense"; }, ErrorCode::kUnsupported},
      {"no operator", [](CRegion& c) { c.nodes[0].op = nullptr; }, ErrorCode::kUnsupported},
      {"a type", [](CRegion& c) { c.types[0].dtype = 99; }, ErrorCode::kUnsupported},
      {"an attribute", [](CRegion& c) { c.attribute.kind = 99; }, ErrorCode::kUnsupported},
      {"elements", [](CRegion& c) { c.attribute.kind = PX_ATTRIBUTE_INT; }},
      {"no attribute", [](CRegion& c) { c.attributes[0] = nullptr; }},
      {"an index", [](CRegion& c) { c.ids[1] = 5; }},
      {"a negative index", [](CRegion& c) { c.ids[5] = -2; }},
      {"an input that is a weight", [](CRegion& c) { c.ids[0] = 1; }},
      {"made twice", [](CRegion& c) { c.ids[5] = 3; }},
      {"read before", [](CRegion& c) { c.ids[3] = 4; }},
      {"no inputs", [](CRegion& c) { c.region.inputs = nullptr; }},
      {"bytes", [](CRegion& c) { c.weight.bytes = 4; }},
      {"no bytes", [](CRegion& c) { c.weight.data = nullptr; }},
      {"a negative dimension", [](CRegion& c) { c.two[0] = -1; }},
      {"a rank", [](CRegion& c) { c.weight.rank = 9; }},
      {"no value", [](CRegion& c) { c.value_list[2] = nullptr; }},
  };
  for (const Wrong& each : wrong) {
    CRegion sample;
    each.change(sample);
    const auto graph = read_region(&sample.region);
    ASSERT_FALSE(graph) << each.what;
    EXPECT_EQ(graph.error().code, each.code) << each.what << ": " << graph.error().to_string();
  }
}

TEST(RegionReader, RefusesSizesOfOtherRegions) {
  const std::vector<Wrong> wrong = {
      {"count", [](CRegion& c) { c.sizes.value_count = 4; }},
      {"no list", [](CRegion& c) { c.sizes.values = nullptr; }},
      {"no tensor", [](CRegion& c) { c.size_list[3] = nullptr; }},
      {"a type", [](CRegion& c) { c.sized[0].dtype = PX_INT64; }},
      {"a rank", [](CRegion& c) { c.sized[0].rank = 1; }},
      {"a weight's size", [](CRegion& c) { c.sized[1] = c.sized[0]; }},
      {"not known", [](CRegion& c) { c.sized[2].data = nullptr; }},
      {"a negative dimension", [](CRegion& c) { c.three_rows[0] = -3; }},
  };
  const CRegion right;
  const Graph graph = *read_region(&right.region);
  for (const Wrong& each : wrong) {
    CRegion sample;
    each.change(sample);
    const auto made = with_sizes(graph, &sample.sizes);
    ASSERT_FALSE(made) << each.what;
    EXPECT_EQ(made.error().code, each.code) << each.what << ": " << made.error().to_string();
  }
}

}  // namespace
}  // namespace parallax
