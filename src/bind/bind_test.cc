#include "bind/bind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "compile/compile_test_util.h"

namespace parallax {
namespace {

/// Moves every f32 constant to an address that is not aligned, at which no kernel can read floats.
std::shared_ptr<GraphContext> misaligned(std::string_view text) {
  Graph graph = context_of(text)->graph;
  for (Value& value : graph.values) {
    if (!value.constant || value.dtype != DType::kF32) continue;
    const auto source = value.constant->bytes;
    const auto copy = std::make_shared<std::vector<std::byte>>(source.size() + 1);
    std::ranges::copy(source, copy->begin() + 1);
    value.constant->bytes = std::span(*copy).subspan(1);
    value.constant->owner = copy;
  }
  return std::make_shared<GraphContext>(std::move(graph));
}

std::shared_ptr<Bound> bound_of(const std::shared_ptr<GraphContext>& context,
                                bool reference_only = true) {
  const auto compiled = compile(context, {}, {reference_only});
  return compiled ? make_bound(*compiled).value_or(nullptr) : nullptr;
}

bool is_aligned(const std::byte* bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes) % alignof(float) == 0;
}

TEST(Bind, CopiesConstantsThatKernelsCannotReadWhereTheyLie) {
  const auto context = misaligned(R"(
    input x f32 [3]
    const w f32 [3] = [1, 2, 3]
    y = Add(x, w)
    output y)");
  const auto bound = bound_of(context);
  ASSERT_NE(bound, nullptr);
  const auto& fixed = bound->fixed[NodeId{0}];
  ASSERT_EQ(fixed.size(), 2U);
  EXPECT_EQ(fixed[0], nullptr);
  EXPECT_EQ(fixed[1], bound->compiled->fixed[context->graph.nodes[NodeId{0}].inputs[1]])
      << "compiling copies nothing";
  ASSERT_FALSE(is_aligned(fixed[1]));
  ASSERT_TRUE(bind(*bound));
  EXPECT_TRUE(is_aligned(fixed[1]));
  std::array<float, 3> copied{};
  std::memcpy(copied.data(), fixed[1], sizeof copied);
  EXPECT_EQ(copied, (std::array<float, 3>{1, 2, 3}));
  // Other plans of the graph read the same copy.
  const auto other = bound_of(context);
  ASSERT_TRUE(bind(*other));
  EXPECT_EQ(other->fixed[NodeId{0}][1], fixed[1]);
}

TEST(Bind, PacksForBodiesToo) {
  const auto bound = bound_of(misaligned(R"(
    input c bool []
    input x f32 [8, 64]
    y = If(c; x)
    body
      input x f32 [8, 64]
      const w f32 [64, 64] = fill 1
      z = MatMul(x, w)
      output z
    end
    body
      input x f32 [8, 64]
      output x
    end
    output y)"),
                              false);
  ASSERT_NE(bound, nullptr);
  const auto& bodies = bound->bodies.at(NodeId{0});
  ASSERT_EQ(bodies.size(), 2U);
  ASSERT_NE(bodies[0]->compiled().nodes[NodeId{0}].code.packings, nullptr);
  PackedWeights& packed = bound->compiled->context->packed;
  EXPECT_GE(packed.total_bytes(), 64 * 64 * 4) << "known before";
  EXPECT_FALSE(bound->done);
  std::int64_t lists = 0;
  ASSERT_TRUE(bind(*bound, [&](std::int64_t count, const auto& pack) {
    lists += count;
    serial_for(count, pack);
  }));
  EXPECT_EQ(lists, 1);
  ASSERT_TRUE(bind(*bound, [&](std::int64_t count, const auto&) { lists += count; }));
  EXPECT_EQ(lists, 1) << "it is done";
  EXPECT_TRUE(bound->done);
}

}  // namespace
}  // namespace parallax
