#include "ir/snapshot.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <limits>

#include "ir/builder.h"
#include "ir/expr_test_util.h"
#include "ir/text/text.h"

namespace parallax {
namespace {

constexpr std::string_view kBodies = R"(symbols n
data_symbols m
input c bool []
input x f32 [n, 2]
y: f32 [n, 2] = If(c; x, c) @choice
body
  outer_symbols "n'" = n
  data_symbols k
  input x f32 ["n'", 2]
  input c bool []
  const w i64 [2] = [1, -2]
  z: f32 ["n'", k] = Loop(w; x) {a = tensor f32 [2] [1.0, 2.0]} @inner
  body
    outer_symbols "n'"
    input x f32 ["n'", 2]
    output x
  end
  output z
end
body
  outer_symbols m n
  input x f32 [n, 2]
  input c bool []
  output x
end
output y
)";

constexpr std::string_view kAll = R"(graph demo
symbols batch seq
data_symbols found
input x f32 [batch, seq, 768]
input ids i64 [2*seq + 1, found, max(1, floor_div(seq, 2))]
const w f32 [768, 3] = fill 0.5
const flags bool [2] = [0, 1]
const scalar f32 [] = [1e-05]
const none f32 [0, 4] = []
symbolic shape i64 [3] = [batch, -batch*seq + 3, max(1, floor_div(seq, 2))]
h: f32 [batch, seq, 3] = MatMul(x, w) then Clip {low = -0.0, high = 6.0} @MatMul_0
a: f32 [overflow], _, b: f32 [] = Split(h) {axis = 1, fill = tensor u8 [2, 2] [1, 2, 3, 4], mode = "x y", num = -2.0, sizes = [1, -2], weights = floats [1.0, inf]} @"my split"
y: f32 [] = Clip(a, _, scalar) @Clip_2
output y, b, w
)";

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? *std::move(graph) : Graph();
}

/// Gives the constants of a snapshot in turn; the graph must live.
NextConstant constants_of(const GraphSnapshot& snapshot) {
  return [&snapshot, next = std::size_t{0}](std::int64_t bytes) mutable {
    std::optional<SharedBytes> found;
    if (next == snapshot.constants.size()) return found;
    const Constant& constant = *snapshot.constants[next++];
    if (std::ssize(constant.bytes) == bytes) found = SharedBytes{constant.bytes, constant.owner};
    return found;
  };
}

void expect_round_trip(const Graph& graph) {
  const GraphSnapshot snapshot = snapshot_of(graph);
  const auto again = graph_of(snapshot.bytes, constants_of(snapshot));
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(print(*again), print(graph));
  EXPECT_EQ(snapshot_of(*again).bytes, snapshot.bytes);
  EXPECT_TRUE(verify(*again, Stage::kLoad));
}

TEST(Snapshot, RoundTrip) {
  for (const std::string_view text : {kAll, kBodies, std::string_view()}) {
    const Graph graph = parsed(text);
    ASSERT_TRUE(verify(graph, Stage::kLoad));
    expect_round_trip(graph);
  }
}

TEST(Snapshot, KeepsStates) {
  Graph graph = parsed("input a f32 [2]\ninput b f32 [2]\nx: f32 [2] = Add(a, b)\noutput x, x");
  graph.states = {std::nullopt, make_constant(DType::kF32, {2}, std::vector<std::byte>(8))};
  ASSERT_TRUE(verify(graph, Stage::kLoad));
  expect_round_trip(graph);
}

TEST(Snapshot, ConstantsStayWhereTheyLie) {
  Graph graph = parsed(kAll);
  for (Value& value : graph.values)
    if (value.constant && value.constant->dtype == DType::kF32) {
      value.constant->is_half = true;
      value.constant->units = std::make_shared<const std::vector<float>>(2, 0.5F);
    }
  const GraphSnapshot snapshot = snapshot_of(graph);
  ASSERT_EQ(snapshot.constants.size(), 5U);
  const auto again = graph_of(snapshot.bytes, constants_of(snapshot));
  ASSERT_TRUE(again);
  for (const ValueId id : graph.values.ids()) {
    ASSERT_EQ(again->values[id].constant.has_value(), graph.values[id].constant.has_value());
    if (!graph.values[id].constant) continue;
    EXPECT_EQ(again->values[id].constant->bytes.data(), graph.values[id].constant->bytes.data());
    EXPECT_EQ(again->values[id].constant->owner, graph.values[id].constant->owner);
    EXPECT_EQ(again->values[id].constant->is_half, graph.values[id].constant->is_half);
    const auto& units = graph.values[id].constant->units;
    ASSERT_EQ(again->values[id].constant->units == nullptr, units == nullptr);
    if (units != nullptr) {
      EXPECT_EQ(*again->values[id].constant->units, *units);
    }
  }
}

TEST(Snapshot, FloatsKeepTheirBits) {
  Graph graph;
  GraphBuilder builder(graph);
  using Limits = std::numeric_limits<float>;
  const std::vector<float> odd = {-0.0F,
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::denorm_min(),
                                  Limits::quiet_NaN(),
                                  -Limits::quiet_NaN()};
  Attributes attributes;
  attributes.set("all", odd);
  for (std::size_t i = 0; i < odd.size(); ++i) attributes.set(fmt::format("one{}", i), odd[i]);
  builder.output(builder.op(OpKind::kRelu, {builder.input("x", DType::kF32, {})}, attributes));
  const GraphSnapshot snapshot = snapshot_of(graph);
  const auto again = graph_of(snapshot.bytes, constants_of(snapshot));
  ASSERT_TRUE(again);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const Attributes& read = again->nodes[NodeId{0}].attributes;
  const auto all = read.get<std::vector<float>>("all", {});
  ASSERT_EQ(all.size(), odd.size());
  for (std::size_t i = 0; i < odd.size(); ++i) {
    EXPECT_EQ(bits(all[i]), bits(odd[i])) << i;
    EXPECT_EQ(bits(read.get_float(fmt::format("one{}", i), 1)), bits(odd[i])) << i;
  }
}

TEST(Snapshot, EveryCutIsRefused) {
  for (const std::string_view text : {kAll, kBodies}) {
    const Graph graph = parsed(text);
    const GraphSnapshot snapshot = snapshot_of(graph);
    const auto refused = [&](std::vector<std::byte> bytes) {
      const auto cut = graph_of(bytes, constants_of(snapshot));
      return !cut && cut.error().code == ErrorCode::kInvalidInput;
    };
    for (std::size_t size = 0; size < snapshot.bytes.size(); ++size)
      EXPECT_TRUE(refused(
          {snapshot.bytes.begin(), snapshot.bytes.begin() + static_cast<std::ptrdiff_t>(size)}))
          << size;
    std::vector<std::byte> longer = snapshot.bytes;
    longer.push_back({});
    EXPECT_TRUE(refused(longer));
  }
}

TEST(Snapshot, WithoutAConstantThereIsNoGraph) {
  const Graph graph = parsed(kAll);
  EXPECT_FALSE(graph_of(snapshot_of(graph).bytes, [](std::int64_t) { return std::nullopt; }));
}

TEST(Snapshot, TypesWithoutASizeAreRefused) {
  for (const DTypeInfo& type : kDTypes) {
    const Graph graph = parsed("input x " + std::string(type.text) + " [3]\n");
    const GraphSnapshot snapshot = snapshot_of(graph);
    EXPECT_EQ(graph_of(snapshot.bytes, constants_of(snapshot)).has_value(),
              type.bits > 0 || type.kind == DTypeClass::kString)
        << type.text;
  }
}

TEST(Snapshot, EndlessNestingIsRefused) {
  Graph graph = parsed("input x f32 []\ny = If(x)\noutput y");
  for (int i = 0; i <= kMaxNesting; ++i) {
    Graph around = parsed("input x f32 []\ny = If(x)\noutput y");
    around.nodes[NodeId{0}].bodies.push_back(std::make_shared<const Graph>(std::move(graph)));
    graph = std::move(around);
  }
  const GraphSnapshot snapshot = snapshot_of(graph);
  EXPECT_FALSE(graph_of(snapshot.bytes, constants_of(snapshot)));
}

/// Reading changed bytes gives an error, or a graph that the verifier can examine.
RC_GTEST_PROP(SnapshotProperty, ChangedBytesAreHarmless, ()) {
  const Graph graph = parsed(*rc::gen::element(kAll, kBodies));
  GraphSnapshot snapshot = snapshot_of(graph);
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, snapshot.bytes.size());
    snapshot.bytes[at] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  }
  const auto read = graph_of(snapshot.bytes, constants_of(snapshot));
  if (read && verify(*read, Stage::kLoad)) RC_ASSERT(!print(*read).empty());
}

RC_GTEST_PROP(SnapshotProperty, ExpressionsSurvive, ()) {
  Graph graph = parsed("symbols a b\ndata_symbols c");
  std::vector<Expr> exprs = {*rc::gen::inRange<std::int64_t>(-6, 7),
                             *rc::gen::arbitrary<std::int64_t>()};
  for (int i = 0; i < 3; ++i) exprs.push_back(Expr::symbol(SymbolId{i}));
  for (int step = 0; step < 12; ++step) {
    const Expr a = *rc::gen::elementOf(exprs), b = *rc::gen::elementOf(exprs);
    exprs.push_back((*rc::gen::elementOf(kOperations))(a, b));
  }
  Value value;
  value.name = "s";
  value.kind = ValueKind::kSymbolic;
  value.dtype = DType::kI64;
  value.shape = {static_cast<std::int64_t>(exprs.size())};
  value.content = exprs;
  graph.values.push_back(value);
  const GraphSnapshot snapshot = snapshot_of(graph);
  const auto again = graph_of(snapshot.bytes, constants_of(snapshot));
  RC_ASSERT(again.has_value());
  RC_ASSERT(snapshot_of(*again).bytes == snapshot.bytes);
  const auto& read = *again->values[ValueId{0}].content;
  RC_ASSERT(read.size() == exprs.size());
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    RC_ASSERT(read[i].overflow() == exprs[i].overflow());
    RC_ASSERT(exprs[i].overflow() || read[i] == exprs[i]);
    RC_ASSERT(read[i].lower_bound() == exprs[i].lower_bound());
  }
}

}  // namespace
}  // namespace parallax
