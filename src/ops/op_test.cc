#include "ops/op.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace parallax {
namespace {

std::vector<OpKind> all_kinds() {
  return {
#define PX_OP(name) OpKind::k##name,
#include "ir/op_kinds.def"
#undef PX_OP
  };
}

TEST(OpDefTest, EveryRowIsComplete) {
  for (OpKind kind : all_kinds()) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const OpDef& def = op_def(kind);
    EXPECT_EQ(def.kind, kind);
    EXPECT_NE(def.infer, nullptr);
    EXPECT_NE(def.macs, nullptr);
    EXPECT_GE(def.min_inputs, def.random || def.objects ? 0 : 1);
    EXPECT_TRUE(def.max_inputs == -1 || def.max_inputs >= def.min_inputs + def.internal_inputs);
    EXPECT_TRUE(def.max_outputs == -1 || def.max_outputs >= def.min_outputs);
    if (def.max_inputs >= 0) {
      EXPECT_EQ(def.shape_inputs >> def.max_inputs, 0U);
    }
    std::set<std::string_view> names;
    for (const AttributeSpec& spec : def.attributes) {
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    }
  }
}

TEST(OpDefTest, ViewsAreTheFiveThatKeepTheirBytes) {
  std::set<OpKind> views;
  for (OpKind kind : all_kinds()) {
    if (op_def(kind).aliasing == Aliasing::kView) views.insert(kind);
  }
  EXPECT_EQ(views, (std::set<OpKind>{OpKind::kFlatten, OpKind::kIdentity, OpKind::kReshape,
                                     OpKind::kSqueeze, OpKind::kUnsqueeze}));
}

Node node_of(OpKind op, int inputs, int outputs, Attributes attributes = {}) {
  Node node{"n", op, std::move(attributes), {}, {}};
  for (int i = 0; i < inputs; ++i) node.inputs.push_back(ValueId{i});
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(ValueId{inputs + i});
  return node;
}

Attributes with(std::string name, AttributeValue value) {
  Attributes attributes;
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

TEST(CheckNodeTest, CountsInputsAndOutputs) {
  EXPECT_TRUE(check_node(node_of(OpKind::kAdd, 2, 1), NodeOrigin::kFile));
  EXPECT_FALSE(check_node(node_of(OpKind::kAdd, 1, 1), NodeOrigin::kFile));
  EXPECT_FALSE(check_node(node_of(OpKind::kAdd, 3, 1), NodeOrigin::kFile));
  EXPECT_FALSE(check_node(node_of(OpKind::kAdd, 2, 2), NodeOrigin::kFile));
  EXPECT_FALSE(check_node(node_of(OpKind::kAdd, 2, 0), NodeOrigin::kFile));
  EXPECT_TRUE(check_node(node_of(OpKind::kConcat, 200, 1), NodeOrigin::kFile));
  EXPECT_FALSE(check_node(node_of(OpKind::kConcat, 0, 1), NodeOrigin::kFile));
}

TEST(CheckNodeTest, OptionalInputsMayBeLeftOutAndOthersMayNot) {
  Node clip = node_of(OpKind::kClip, 3, 1);
  clip.inputs[1] = ValueId{};
  EXPECT_TRUE(check_node(clip, NodeOrigin::kFile));
  clip.inputs[0] = ValueId{};
  EXPECT_FALSE(check_node(clip, NodeOrigin::kFile));
  Node concat = node_of(OpKind::kConcat, 3, 1);
  concat.inputs[1] = ValueId{};
  EXPECT_FALSE(check_node(concat, NodeOrigin::kFile));
}

TEST(CheckNodeTest, RefusesUnknownAttributesAndTypesByName) {
  const auto unknown =
      check_node(node_of(OpKind::kAdd, 2, 1, with("axis", std::int64_t{1})), NodeOrigin::kFile);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().node, "n");
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.error().message.find("'axis'"), std::string::npos);
  const auto typed =
      check_node(node_of(OpKind::kSoftmax, 1, 1, with("axis", 1.0F)), NodeOrigin::kFile);
  ASSERT_FALSE(typed);
  EXPECT_EQ(typed.error().code, ErrorCode::kInvalidModel);
}

TEST(CheckNodeTest, WhatPassesMakeIsRefusedInFiles) {
  const Node nhwc = node_of(OpKind::kConv, 2, 1, with("layout", std::string("NHWC")));
  EXPECT_TRUE(check_node(nhwc, NodeOrigin::kPass));
  EXPECT_TRUE(check_node(nhwc, NodeOrigin::kLoader));
  EXPECT_FALSE(check_node(nhwc, NodeOrigin::kFile));
  EXPECT_TRUE(check_node(node_of(OpKind::kMatMul, 3, 1), NodeOrigin::kPass));
  EXPECT_FALSE(check_node(node_of(OpKind::kMatMul, 3, 1), NodeOrigin::kFile));
  EXPECT_TRUE(check_node(node_of(OpKind::kSilu, 1, 1), NodeOrigin::kPass));
  EXPECT_FALSE(check_node(node_of(OpKind::kSilu, 1, 1), NodeOrigin::kLoader));
  EXPECT_FALSE(check_node(node_of(OpKind::kSilu, 1, 1), NodeOrigin::kFile));
}

struct MacsRow {
  OpKind op;
  Attributes attributes;
  std::vector<Dims> inputs, outputs;
  std::int64_t macs;
};

TEST(MacsTest, CountMultiplyAccumulates) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<MacsRow> rows = {
      {OpKind::kMatMul, {}, {{2, 3, 4}, {4, 5}}, {{2, 3, 5}}, 2 * 3 * 5 * 4},
      {OpKind::kGemm, with("transA", std::int64_t{1}), {{4, 3}, {4, 5}}, {{3, 5}}, 60},
      {OpKind::kConv, {}, {{1, 8, 9, 9}, {16, 4, 3, 3}}, {{1, 16, 7, 7}}, 16 * 49 * 4 * 9},
      {OpKind::kMaxPool,
       with("kernel_shape", std::vector<std::int64_t>{2, 2}),
       {{1, 1, 4, 4}},
       {{1, 1, 2, 2}},
       16},
      {OpKind::kAdd, {}, {{3, 1}, {1, 4}}, {{3, 4}}, 12},
      {OpKind::kTranspose, {}, {{3, 4}}, {{4, 3}}, 0},
      {OpKind::kSoftmax, {}, {{3, 4}}, {{3, 4}}, 12},
      {OpKind::kMatMul,
       {},
       {{huge, huge}, {huge, huge}},
       {{huge, huge}},
       std::numeric_limits<std::int64_t>::max()},
  };
  for (const MacsRow& row : rows) {
    Node node = node_of(row.op, 1, 1, row.attributes);
    EXPECT_EQ(op_def(row.op).macs(node, row.inputs, row.outputs), row.macs) << to_string(row.op);
  }
}

}  // namespace
}  // namespace parallax
