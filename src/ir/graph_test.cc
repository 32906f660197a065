#include "ir/graph.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "base/checked.h"
#include "ir/builder.h"
#include "ir/text/text.h"

namespace parallax {
namespace {

TEST(Ops, NamesAndBack) {
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    EXPECT_EQ(op_from_string(to_string(kind)), kind);
  }
  EXPECT_EQ(to_string(OpKind::kMatMul), "MatMul");
  EXPECT_EQ(op_from_string("matmul"), std::nullopt);
}

TEST(Constant, CopiesAlignedAndReadsUnaligned) {
  const std::array<std::int64_t, 3> elements = {1, -2, 3};
  const Constant constant = make_i64(elements);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(constant.bytes.data()) % kAlignment, 0U);
  EXPECT_EQ(integers(constant), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(integers(constant, 2), std::nullopt);

  std::vector<std::byte> odd(1 + 2 * sizeof(std::int32_t));
  odd[1] = std::byte{0xfe};
  odd[5] = std::byte{7};
  Constant view{DType::kI32, {2}, std::span<const std::byte>(odd).subspan(1), nullptr};
  EXPECT_EQ(integers(view), (std::vector<std::int64_t>{0xfe, 7}));
  view.dtype = DType::kBool;
  view.dims = {8};
  EXPECT_EQ(integers(view), (std::vector<std::int64_t>{1, 0, 0, 0, 1, 0, 0, 0}));
  view.dtype = DType::kF32;
  EXPECT_EQ(integers(view), std::nullopt);
}

TEST(Attributes, TypedReads) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{3});
  EXPECT_EQ(attributes.get_int("axis", 0), 3);
  EXPECT_EQ(attributes.get_float("axis", 0.5F), 0.5F);
  EXPECT_EQ(attributes.get_int("other", 9), 9);
  attributes.erase("axis");
  attributes.erase("axis");
  EXPECT_EQ(attributes.find("axis"), nullptr);
}

TEST(Builder, NamesAreUnique) {
  Graph graph;
  GraphBuilder builder(graph);
  const ValueId x = builder.input("Relu_0", DType::kF32, {4});
  const ValueId a = builder.op(OpKind::kRelu, {x});
  const ValueId b = builder.op(OpKind::kRelu, {a}, {}, "Relu_0");
  const NodeId split = builder.node(OpKind::kSplit, {b}, {}, "cut", 2);
  const std::array<std::int64_t, 1> one = {1};
  builder.ints("cut_output0", one);
  builder.output(graph.nodes[split].outputs[1]);
  const auto status = verify(graph, Stage::kLoad);
  EXPECT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(graph.nodes[NodeId{0}].name, "Relu_0");
  EXPECT_NE(graph.nodes[NodeId{1}].name, "Relu_0");
}

TEST(Graph, SymbolsAreFoundAgain) {
  Graph graph;
  const SymbolId a = graph.symbol("a", SymbolKind::kInput);
  EXPECT_EQ(graph.symbol("a", SymbolKind::kInput), a);
  EXPECT_NE(graph.symbol("b", SymbolKind::kData), a);
  EXPECT_EQ(graph.symbol_names(), (std::vector<std::string>{"a", "b"}));
}

TEST(Graph, ConsumersOnceEach) {
  const auto graph = parse_graph("input x f32 [1]\na = Add(x, x)\nb = Mul(x, a)\noutput b");
  ASSERT_TRUE(graph);
  const auto readers = consumers(*graph);
  EXPECT_EQ(readers[graph->inputs[0]], (std::vector{NodeId{0}, NodeId{1}}));
  EXPECT_TRUE(readers[graph->outputs[0]].empty());
}

constexpr std::string_view kGood = R"(symbols s
input x f32 [s]
const c i64 [2] = [1, 2]
symbolic d i64 [1] = [s]
a: f32 [s] = Relu(x)
b: f32 [s] = Relu(a)
output b)";

TEST(Verify, FindsEveryKindOfDamage) {
  const std::vector<std::pair<std::string, std::function<void(Graph&)>>> damages = {
      {"order", [](Graph& g) { std::swap(g.nodes[NodeId{0}].inputs, g.nodes[NodeId{1}].inputs); }},
      {"input out of range", [](Graph& g) { g.nodes[NodeId{0}].inputs[0] = ValueId{99}; }},
      {"output out of range", [](Graph& g) { g.nodes[NodeId{0}].outputs[0] = ValueId{99}; }},
      {"two producers", [](Graph& g) { g.nodes[NodeId{1}].outputs = g.nodes[NodeId{0}].outputs; }},
      {"node name", [](Graph& g) { g.nodes[NodeId{1}].name = g.nodes[NodeId{0}].name; }},
      {"value name", [](Graph& g) { g.values[ValueId{1}].name = "x"; }},
      {"symbol name",
       [](Graph& g) {
         g.symbols.push_back({"s", SymbolKind::kData});
       }},
      {"unknown symbol", [](Graph& g) { g.values[ValueId{0}].shape = {Expr::symbol({7})}; }},
      {"negative dimension", [](Graph& g) { g.values[ValueId{0}].shape = {-1}; }},
      {"rank", [](Graph& g) { g.values[ValueId{0}].shape = Shape(9, Expr(1)); }},
      {"constant's bytes", [](Graph& g) { g.values[ValueId{1}].constant->dims = {3}; }},
      {"constant's shape",
       [](Graph& g) {
         g.values[ValueId{1}].shape = {1, 2};
       }},
      {"no bytes", [](Graph& g) { g.values[ValueId{1}].constant.reset(); }},
      {"content", [](Graph& g) { g.values[ValueId{2}].content->push_back(1); }},
      {"no content", [](Graph& g) { g.values[ValueId{2}].content.reset(); }},
      {"content of floats", [](Graph& g) { g.values[ValueId{2}].dtype = DType::kF32; }},
      {"producer", [](Graph& g) { g.values[ValueId{3}].producer = NodeId{1}; }},
      {"no producer", [](Graph& g) { g.values[ValueId{3}].producer = NodeId{}; }},
      {"producer of an input", [](Graph& g) { g.values[ValueId{0}].producer = NodeId{0}; }},
      {"unlisted input", [](Graph& g) { g.inputs.clear(); }},
      {"input twice", [](Graph& g) { g.inputs.push_back(g.inputs[0]); }},
      {"constant as an input", [](Graph& g) { g.inputs.push_back(ValueId{1}); }},
      {"graph output", [](Graph& g) { g.outputs.push_back(ValueId{}); }},
      {"more states than inputs", [](Graph& g) { g.states.resize(2); }},
      {"state of another type",
       [](Graph& g) {
         g.outputs = {ValueId{1}};
         g.states.resize(1);
       }},
      {"first value of another shape",
       [](Graph& g) { g.states = {make_constant(DType::kF32, {1}, std::vector<std::byte>(4))}; }}};
  const auto good = parse_graph(kGood);
  ASSERT_TRUE(good) << good.error().to_string();
  ASSERT_TRUE(verify(*good, Stage::kSimplify))
      << verify(*good, Stage::kSimplify).error().to_string();
  for (const auto& [what, damage] : damages) {
    Graph graph = *good;
    damage(graph);
    const auto status = verify(graph, Stage::kSimplify);
    ASSERT_FALSE(status) << what;
    EXPECT_EQ(status.error().stage, Stage::kSimplify);
  }
}

TEST(Binding, ConcreteShapes) {
  const auto graph = parse_graph(R"(symbols s
    data_symbols n
    input x f32 [s, 2*s + 1]
    a: f32 [n, s] = Relu(x)
    b: f32 [s - 3] = Relu(x))");
  ASSERT_TRUE(graph);
  const auto shapes = concrete_shapes(*graph, {{4, std::nullopt}});
  ASSERT_TRUE(shapes) << shapes.error().to_string();
  EXPECT_EQ((*shapes)[ValueId{0}], (Dims{4, 9}));
  EXPECT_EQ((*shapes)[ValueId{1}], std::nullopt);
  EXPECT_EQ((*shapes)[ValueId{2}], (Dims{1}));
}

TEST(Binding, Refusals) {
  const auto graph = parse_graph("symbols s\ninput x f32 [s, s]\na: f32 [s - 3] = Relu(x)");
  ASSERT_TRUE(graph);
  struct Case {
    std::optional<std::int64_t> value;
    ErrorCode code;
  };
  for (const auto& [value, code] :
       {Case{std::nullopt, ErrorCode::kUnboundSymbol}, Case{2, ErrorCode::kInvalidInput},
        Case{std::int64_t{1} << 31, ErrorCode::kInvalidInput},
        Case{std::int64_t{1} << 62, ErrorCode::kInvalidInput}}) {
    const auto shapes = concrete_shapes(*graph, {{value}});
    ASSERT_FALSE(shapes) << value.value_or(-1);
    EXPECT_EQ(shapes.error().code, code);
  }
}

}  // namespace
}  // namespace parallax
