#include "kernels/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ops/op.h"

namespace parallax {
namespace {

Node node_of(OpKind op) {
  Node node;
  node.name = "n";
  node.op = op;
  node.outputs = {ValueId{9}};
  return node;
}

TEST(Registry, ReferenceCoversEveryOperatorOnce) {
  std::multiset<OpKind> covered;
  for (const KernelRow& row : kernel_rows()) {
    if (library_of(row) == KernelLibrary::kReference) covered.insert(row.op);
  }
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const std::size_t kernels =
        op_def(static_cast<OpKind>(i)).control_flow || op_def(static_cast<OpKind>(i)).objects ? 0
                                                                                              : 1;
    EXPECT_EQ(covered.count(static_cast<OpKind>(i)), kernels) << to_string(static_cast<OpKind>(i));
  }
}

TEST(Registry, AsksLibrariesInOrderOfPreference) {
  KernelLibrary last = KernelLibrary::kCpu;
  for (const KernelRow& row : kernel_rows()) {
    EXPECT_GE(library_of(row), last);
    last = library_of(row);
  }
}

TEST(Registry, KernelsOfAnOperatorHaveNamesOfTheirOwn) {
  std::set<std::pair<OpKind, std::string_view>> names;
  for (const KernelRow& row : kernel_rows())
    EXPECT_TRUE(names.emplace(row.op, row.name).second) << to_string(row.op) << " " << row.name;
}

TEST(Registry, AsksKernelsThatTakeTheElementType) {
  const Node node = node_of(OpKind::kAbs);
  PackedWeights packed;
  for (const auto& [dtype, name] : {std::pair{DType::kF32, "vector"},
                                    {DType::kI8, "reference"},
                                    {DType::kF16, "vector"},
                                    {DType::kI16, "reference"}}) {
    const TensorDesc tensor{true, dtype, {4}, nullptr};
    const auto made = make_kernel({node, {&tensor, 1}, {&tensor, 1}, packed}, false);
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->row->name, name);
  }
  const TensorDesc tensor{true, DType::kBool, {4}, nullptr};
  const auto made = make_inferred_kernel({node, {&tensor, 1}, {&tensor, 1}, packed}, false);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(made.error().message.find("bool"), std::string::npos) << made.error().message;
}

TEST(Registry, ReferenceOnlyMeansReference) {
  const Node node = node_of(OpKind::kRelu);
  const TensorDesc tensor{true, DType::kF32, {4}, nullptr};
  PackedWeights packed;
  const auto made = make_kernel({node, {&tensor, 1}, {&tensor, 1}, packed}, true);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->row->name, "reference");
}

TEST(Registry, RefusesSizesThatDoNotGoTogether) {
  const Node node = node_of(OpKind::kAdd);
  PackedWeights packed;
  const TensorDesc inputs[] = {{true, DType::kF32, {3}, nullptr},
                               {true, DType::kF32, {5}, nullptr}};
  const TensorDesc output{true, DType::kF32, {5}, nullptr};
  const auto made = make_kernel({node, inputs, {&output, 1}, packed}, true);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(made.error().node, "n");
}

TEST(Registry, RefusesOutputsThatTheInputsDoNotGive) {
  const Node node = node_of(OpKind::kRelu);
  PackedWeights packed;
  const TensorDesc input{true, DType::kF32, {3}, nullptr};
  const TensorDesc output{true, DType::kF32, {4}, nullptr};
  const auto made = make_kernel({node, {&input, 1}, {&output, 1}, packed}, true);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(made.error().message, testing::HasSubstr("float32 3"));
}

TEST(Registry, NamesDtypesOfARequestThatNoKernelTakes) {
  const Node node = node_of(OpKind::kSoftmax);
  PackedWeights packed;
  const TensorDesc tensor{true, DType::kI32, {3}, nullptr};
  const auto made = make_kernel({node, {&tensor, 1}, {&tensor, 1}, packed}, true);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().node, "n");
  EXPECT_THAT(made.error().message, testing::HasSubstr("int32 3"));
}

}  // namespace
}  // namespace parallax
