#include "simplify/narrow_form.h"

#include <gtest/gtest.h>

#include "parallax/elements.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

struct FormCase {
  const char* node;
  bool is_half;
  std::vector<float> units;
};

TEST(NarrowForm, OfNodesOfConstants) {
  const std::string constants =
      "const h f16 [2, 3] = fill 0.5\nconst b bf16 [2, 3] = fill 0.5\nconst i i8 [2, 3] = fill 5\n"
      "const u u8 [2, 3] = fill 5\nconst s f32 [] = [0.25]\nconst rows f32 [2] = [0.25, 0.5]\n"
      "const columns f32 [3] = [0.25, 0.5, 1]\nconst iz i8 [] = [0]\nconst iy i8 [] = [1]\n"
      "const uz u8 [] = [128]\nconst uy u8 [] = [127]\nconst rz i8 [2] = [0, 0]\n"
      "const ry i8 [2] = [0, 3]\n";
  const std::vector<FormCase> cases = {
      {"Cast(h) {to = 1}", true, {}},
      {"Cast(b) {to = 1}", false, {}},
      {"DequantizeLinear(i, s)", false, {0.25F}},
      {"DequantizeLinear(i, s, iz)", false, {0.25F}},
      {"DequantizeLinear(i, s, iy)", false, {}},
      {"DequantizeLinear(u, s, uz)", false, {0.25F}},
      {"DequantizeLinear(u, s, uy)", false, {}},
      {"DequantizeLinear(u, s)", false, {}},
      {"DequantizeLinear(i, rows, rz) {axis = 0}", false, {0.25F, 0.5F}},
      {"DequantizeLinear(i, rows, rz) {axis = -2}", false, {0.25F, 0.5F}},
      {"DequantizeLinear(i, rows, ry) {axis = 0}", false, {}},
      {"DequantizeLinear(i, columns) {axis = 1}", false, {}},
  };
  for (const FormCase& c : cases) {
    const Graph graph = graph_of(constants + "y = " + c.node + "\noutput y");
    const NarrowForm form = narrow_form(graph, graph.nodes[NodeId{0}]);
    EXPECT_EQ(form.is_half, c.is_half) << c.node;
    EXPECT_EQ(form.units == nullptr ? std::vector<float>() : *form.units, c.units) << c.node;
    EXPECT_EQ(form.stored.has_value(), c.is_half || !c.units.empty()) << c.node;
    EXPECT_EQ(form.stored ? form.stored->stride(0) : 3, 3) << c.node;
  }
}

TEST(NarrowForm, WritesTheNumbersOfTransposedBytes) {
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kF16}) {
    const Dims dims{2, 2, 3}, turned{2, 3, 2};
    std::vector<std::byte> bytes(24);
    for (std::int64_t i = 0; i < 12; ++i) {
      const float x = static_cast<float>(dtype == DType::kU8 ? 120 + i : i - 8);
      write_elements<float>(dtype, std::span(&x, 1), bytes.data(), i);
    }
    bytes.resize(static_cast<std::size_t>(*bytes_of(dtype, dims)));
    const std::int64_t perm[] = {0, 2, 1};
    const auto units = std::make_shared<const std::vector<float>>(std::vector{0.5F, 2.0F});
    const StoredForm stored =
        transposed_form(*own_form(make_constant(dtype, dims, bytes)), dims, perm);
    std::vector<float> numbers(12);
    const bool half = dtype == DType::kF16;
    write_numbers({half, half ? nullptr : units, stored}, turned,
                  std::as_writable_bytes(std::span(numbers)));
    const std::vector<float> of_bytes = {-4, -2.5F, -3.5F, -2, -3, -1.5F, -4, 2, -2, 4, 0, 6};
    const std::vector<float> of_halves = {-8, -5, -7, -4, -6, -3, -2, 1, -1, 2, 0, 3};
    EXPECT_EQ(numbers, half ? of_halves : of_bytes) << to_string(dtype);
  }
}

TEST(NarrowForm, WritesRunsOfEveryAxis) {
  // Along one of the axes lie more elements than are read together.
  const Dims dims{2, 3, 70};
  std::vector<std::byte> bytes(420);
  for (std::int64_t i = 0; i < 420; ++i) {
    const float x = static_cast<float>(i % 97 - 48);
    write_elements<float>(DType::kI8, std::span(&x, 1), bytes.data(), i);
  }
  const StoredForm dense = *own_form(make_constant(DType::kI8, dims, bytes));
  const auto units = std::make_shared<const std::vector<float>>(std::vector{0.5F, 2.0F});
  const auto unit = std::make_shared<const std::vector<float>>(std::vector{0.25F});
  for (const std::vector<std::int64_t>& perm : {std::vector<std::int64_t>{0, 1, 2},
                                                {0, 2, 1},
                                                {1, 0, 2},
                                                {1, 2, 0},
                                                {2, 0, 1},
                                                {2, 1, 0}}) {
    const StoredForm turned = transposed_form(dense, dims, perm);
    const Dims to{dims[static_cast<int>(perm[0])], dims[static_cast<int>(perm[1])],
                  dims[static_cast<int>(perm[2])]};
    const bool first_stays = perm[0] == 0;
    std::vector<float> got(420), want;
    write_numbers({false, first_stays ? units : unit, turned}, to,
                  std::as_writable_bytes(std::span(got)));
    for (std::int64_t i = 0; i < 420; ++i) {
      const std::int64_t at[] = {i / to[2] / to[1], i / to[2] % to[1], i % to[2]};
      std::int64_t from = 0;
      for (int axis = 0; axis < 3; ++axis) from += at[axis] * turned.stride(axis);
      const float factor = first_stays ? (*units)[static_cast<std::size_t>(at[0])] : 0.25F;
      want.push_back(static_cast<float>(from % 97 - 48) * factor);
    }
    EXPECT_EQ(got, want) << perm[0] << perm[1] << perm[2];
  }
}

TEST(NarrowForm, OfTransposesOfWhatIsStored) {
  for (const char* dtype : {"f16", "i8", "u8", "f32", "bf16"}) {
    const Graph graph =
        graph_of("const x " + std::string(dtype) + " [2, 3] = fill 1\ny = Transpose(x)\noutput y");
    const auto form = narrow_form(graph, graph.nodes[NodeId{0}]).stored;
    ASSERT_EQ(form.has_value(), dtype[0] != 'b') << dtype;
    if (!form) continue;
    EXPECT_EQ(form->stride(0), 1);
    EXPECT_EQ(form->stride(1), 3);
  }
}

TEST(NarrowForm, OfTransposes) {
  for (const std::size_t count : {1U, 2U}) {
    for (const char* perm : {"[0, 2, 1]", "[1, 0, 2]"}) {
      Graph graph =
          graph_of(std::string("const x f32 [2, 2, 2] = fill 0.5\ny = Transpose(x) {perm = ") +
                   perm + "}\noutput y");
      const Node& node = graph.nodes[NodeId{0}];
      Constant& x = *graph.values[node.inputs[0]].constant;
      x.is_half = true;
      x.units = std::make_shared<const std::vector<float>>(count, 0.5F);
      const NarrowForm form = narrow_form(graph, node);
      EXPECT_TRUE(form.is_half);
      EXPECT_EQ(form.units != nullptr, count == 1 || perm[1] == '0');
    }
  }
}

}  // namespace
}  // namespace parallax
