#include "ops/params/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/params/window.h"

namespace parallax {

enum class Fruit : std::uint8_t { kApple, kPear };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<Fruit> = {"APPLE", "PEAR"};

namespace {

struct AllParams {
  bool flag = true;
  std::int64_t count = 3;
  float scale = 0.5F;
  std::string text = "t";
  DType dtype = DType::kF32;
  Fruit fruit = Fruit::kApple;
  std::vector<std::int64_t> sizes;
  std::optional<float> limit;
  std::optional<Constant> table;

  template <class Visitor>
  void visit(Visitor& v) {
    v("flag", flag);
    v("count", count);
    v("scale", scale);
    v("text", text);
    v("dtype", dtype);
    v("fruit", fruit);
    v("sizes", sizes);
    v.internal("limit", limit);
    v("table", table);
  }
};

Node node_with(std::string name, AttributeValue value) {
  Node node;
  node.attributes.set(std::move(name), std::move(value));
  return node;
}

TEST(Params, AbsentAttributesLeaveDefaults) {
  const auto params = params_of<AllParams>(Node{});
  EXPECT_TRUE(params.flag);
  EXPECT_EQ(params.count, 3);
  EXPECT_EQ(params.scale, 0.5F);
  EXPECT_EQ(params.text, "t");
  EXPECT_EQ(params.dtype, DType::kF32);
  EXPECT_EQ(params.fruit, Fruit::kApple);
  EXPECT_EQ(params.limit, std::nullopt);
  EXPECT_FALSE(params.table);
}

TEST(Params, WhatIsSetIsRead) {
  Node node;
  set_param(node, &AllParams::flag, false);
  set_param(node, &AllParams::count, 7);
  set_param(node, &AllParams::scale, 2.0F);
  set_param(node, &AllParams::text, "u");
  set_param(node, &AllParams::dtype, DType::kI64);
  set_param(node, &AllParams::fruit, Fruit::kPear);
  set_param(node, &AllParams::sizes, {1, 2});
  set_param(node, &AllParams::limit, 0.25F);
  EXPECT_EQ(node.attributes.get_int("flag", 9), 0);
  EXPECT_EQ(node.attributes.get_int("dtype", 0), 7);
  EXPECT_EQ(node.attributes.get_string("fruit", ""), "PEAR");
  const auto params = params_of<AllParams>(node);
  EXPECT_FALSE(params.flag);
  EXPECT_EQ(params.count, 7);
  EXPECT_EQ(params.scale, 2.0F);
  EXPECT_EQ(params.text, "u");
  EXPECT_EQ(params.dtype, DType::kI64);
  EXPECT_EQ(params.fruit, Fruit::kPear);
  EXPECT_THAT(params.sizes, testing::ElementsAre(1, 2));
  EXPECT_EQ(params.limit, 0.25F);
  erase_param(node, &AllParams::count);
  EXPECT_EQ(params_of<AllParams>(node).count, 3);
}

TEST(Params, OptionalOnesTellWhetherTheyAreThere) {
  EXPECT_EQ(params_of<AllParams>(node_with("limit", 0.25F)).limit, 0.25F);
  const auto table = params_of<AllParams>(node_with("table", make_i64({{4, 5}}))).table;
  ASSERT_TRUE(table);
  EXPECT_EQ(table->dims, Dims{2});
}

TEST(Params, FindsStoredValues) {
  const Node node = node_with("sizes", std::vector<std::int64_t>{1, 2});
  const auto* const sizes = find_param(node, &AllParams::sizes);
  ASSERT_NE(sizes, nullptr);
  EXPECT_EQ(sizes, std::get_if<std::vector<std::int64_t>>(node.attributes.find("sizes")));
  EXPECT_EQ(find_param(Node{}, &AllParams::sizes), nullptr);
  EXPECT_EQ(find_param(node_with("sizes", 1.0F), &AllParams::sizes), nullptr);
}

TEST(Params, ListsNamesAndTypes) {
  const auto specs = attributes_of<AllParams>();
  ASSERT_EQ(specs.size(), 9U);
  constexpr std::array kTypes = {
      AttributeType::kInt,    AttributeType::kInt,   AttributeType::kFloat,
      AttributeType::kString, AttributeType::kInt,   AttributeType::kString,
      AttributeType::kInts,   AttributeType::kFloat, AttributeType::kTensor};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(specs[i].type, kTypes[i]) << specs[i].name;
    EXPECT_EQ(specs[i].from == NodeOrigin::kPass, specs[i].name == "limit") << specs[i].name;
  }
}

TEST(Params, RefusesValuesThatAMemberCannotHave) {
  struct Row {
    std::string name;
    AttributeValue value;
    std::string message;
    ErrorCode code;
  };
  const Row rows[] = {
      {"flag", std::int64_t{2}, "flag must be 0 or 1, not 2", ErrorCode::kInvalidModel},
      {"dtype", std::int64_t{99}, "dtype 99 is not a dtype", ErrorCode::kInvalidModel},
      {"fruit", std::string("PLUM"), "fruit 'PLUM' is not covered", ErrorCode::kUnsupported},
  };
  for (const Row& row : rows) {
    const Node node = node_with(row.name, row.value);
    const InferContext context{.node = node, .inputs = {}, .fresh_symbol = {}};
    const auto params = read_params<AllParams>(context);
    ASSERT_FALSE(params) << row.name;
    EXPECT_THAT(params.error().message, testing::HasSubstr(row.message));
    EXPECT_EQ(params.error().code, row.code) << row.name;
  }
}

TEST(WindowParams, PaddingIsStatedOrFollowsFromSizes) {
  struct Row {
    AutoPad auto_pad;
    std::int64_t missing, begin, end;
  };
  const Row rows[] = {
      {AutoPad::kNotSet, 3, 1, 2},     {AutoPad::kValid, 3, 0, 0},
      {AutoPad::kSameUpper, 3, 1, 2},  {AutoPad::kSameLower, 3, 2, 1},
      {AutoPad::kSameUpper, -3, 0, 0}, {AutoPad::kSameLower, 4, 2, 2},
  };
  for (const Row& row : rows) {
    WindowParams params;
    params.auto_pad = row.auto_pad;
    params.pads = {9, 1, 9, 2};
    const Padding padding = params.padding(1, 2, row.missing);
    EXPECT_EQ(padding.begin, row.begin);
    EXPECT_EQ(padding.end, row.end);
  }
  EXPECT_EQ(WindowParams{}.stated_padding(0, 2).end, 0);
}

}  // namespace
}  // namespace parallax
