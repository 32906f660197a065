#include "compile/equivalent_nodes.h"

#include <gtest/gtest.h>

#include "compile/compile_test_util.h"

namespace parallax {
namespace {

struct Row {
  std::string_view nodes;  ///< those compared come last
  bool alike;
};

constexpr Row kRows[] = {
    {"b = Relu(x)\n c = Relu(y)\n output b, c", true},
    {"b = Relu(x)\n c = Exp(y)\n output b, c", false},
    {"b = Relu(x)\n c = Relu(z)\n output b, c", false},
    {"b = Cast(x) {to = 6}\n c = Cast(x) {to = 7}\n output b, c", false},
    {"b = Concat(x, y) {axis = 0}\n c = Concat(y, x) {axis = 0}\n output b, c", true},
    {"b = Concat(x, y) {axis = 0}\n c = Concat(y, x) {axis = 1}\n output b, c", false},
    {"b = Concat(x, y) {axis = 0}\n c = Concat(x, y, y) {axis = 0}\n output b, c", false},
    // Elements that decide the shape: the same value, equal ones, others.
    {"b = Unsqueeze(x, zero)\n c = Unsqueeze(y, zero)\n output b, c", true},
    {"b = Unsqueeze(x, zero)\n c = Unsqueeze(y, nought)\n output b, c", true},
    {"b = Unsqueeze(x, zero)\n c = Unsqueeze(y, one)\n output b, c", false},
    // If only running tells the sizes, equal dimensions mean nothing.
    {"b = Expand(x, p)\n c = Expand(x, q)\n output b, c", false},
};

TEST(FindAlike, ComparesAllThatInferenceReads) {
  for (const Row& row : kRows) {
    const auto context = context_of(std::string(R"(
    symbols n m
    input x f32 [n, 3]
    input y f32 [n, 3]
    input z f32 [m, 3]
    input p i64 [2]
    input q i64 [2]
    const zero i64 [1] = [0]
    const nought i64 [1] = [0]
    const one i64 [1] = [1]
    )") + std::string(row.nodes));
    const auto last = static_cast<std::int32_t>(context->graph.nodes.size()) - 1;
    EXPECT_EQ(context->alike[NodeId{last}], NodeId{row.alike ? last - 1 : last}) << row.nodes;
    EXPECT_EQ(context->alike[NodeId{last - 1}], NodeId{last - 1}) << row.nodes;
  }
}

}  // namespace
}  // namespace parallax
