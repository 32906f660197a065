// Nodes made at random from what a hostile file could hold: inference either refuses them or gives
// values that satisfy the graph's invariants.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "ir/builder.h"
#include "ops/infer.h"

namespace parallax {
namespace {

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {
    graph_.symbols.push_back({"b", SymbolKind::kInput});
    graph_.symbols.push_back({"s", SymbolKind::kInput});
  }

  Graph make(OpKind op) {
    const OpDef& def = op_def(op);
    const int most = def.max_inputs < 0 ? 3 : def.max_inputs;
    std::vector<ValueId> inputs;
    for (int i = 0, count = def.min_inputs + below(most - def.min_inputs + 1); i < count; ++i) {
      inputs.push_back(i >= def.min_inputs && below(4) == 0 ? ValueId{} : value(i, def));
    }
    Attributes attributes;
    for (const AttributeSpec& spec : def.attributes) {
      if (below(3) == 0) attributes.set(std::string(spec.name), attribute(spec));
    }
    GraphBuilder builder(graph_);
    builder.node(op, std::move(inputs), std::move(attributes), "n",
                 def.max_outputs < 0 ? 1 + below(3) : def.max_outputs);
    return std::move(graph_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::int64_t number() {
    constexpr std::int64_t kExtremes[] = {std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int32_t>::max(),
                                          std::int64_t{1} << 62,
                                          -1000,
                                          1000};
    return below(8) == 0 ? kExtremes[below(6)] : below(8) - 2;
  }

  Expr dim() {
    if (below(6) == 0) return Expr::symbol(SymbolId{below(2)});
    if (below(30) == 0) return Expr(std::int64_t{1} << (20 + below(42)));
    return Expr(below(5));
  }

  ValueId value(int i, const OpDef& def) {
    const std::string name = "v" + std::to_string(i);
    GraphBuilder builder(graph_);
    const bool lists = i > 0 && below(5) != 0 && (def.shape_inputs >> i & 1U) != 0;
    if (lists || below(6) == 0) {
      const DType dtype = below(5) == 0 ? DType::kI32 : DType::kI64;
      const int length = below(5);
      Value symbolic;
      symbolic.name = name;
      symbolic.kind = ValueKind::kSymbolic;
      symbolic.dtype = dtype;
      symbolic.shape = {Expr(length)};
      symbolic.content.emplace();
      for (int k = 0; k < length; ++k) {
        symbolic.content->push_back(below(5) == 0 ? dim() - Expr(below(3)) : Expr(number()));
      }
      return graph_.values.push_back(std::move(symbolic));
    }
    Shape shape;
    for (int k = 0, rank = below(2) == 0 ? 3 : below(5); k < rank; ++k) shape.push_back(dim());
    const DType dtype = below(3) == 0 ? static_cast<DType>(below(6)) : DType::kF32;
    return builder.input(name, dtype, std::move(shape));
  }

  std::string text(std::string_view name) {
    if (below(8) == 0) return "nonsense";
    if (name == "layout") return "NHWC";
    if (name == "mode") return below(2) == 0 ? "linear" : "edge";
    if (name == "auto_pad") return "SAME_LOWER";
    if (name == "reduction") return "add";
    return "floor";
  }

  AttributeValue attribute(const AttributeSpec& spec) {
    switch (spec.type) {
      case AttributeType::kInt:
        return number();
      case AttributeType::kInts: {
        std::vector<std::int64_t> list;
        for (int k = 0, size = below(2) == 0 ? 1 : below(5); k < size; ++k)
          list.push_back(number());
        return list;
      }
      case AttributeType::kTensor:
        return make_i64(std::vector<std::int64_t>{number()});
      case AttributeType::kString:
        return text(spec.name);
      case AttributeType::kStrings:
        return std::vector<std::string>(static_cast<std::size_t>(below(3)), text(spec.name));
      case AttributeType::kFloats:
        return std::vector<float>(static_cast<std::size_t>(below(3)), 1.0F);
      case AttributeType::kFloat:
        break;
    }
    return 1.0F;
  }

  Graph graph_;
  std::mt19937_64 random_;
};

/// Concrete inputs of node 0 under b = s = 2, with bytes where content is known.
struct Runtime {
  std::vector<RuntimeInput> inputs;
  std::vector<std::vector<std::int64_t>> wide;
  std::vector<std::vector<std::int32_t>> narrow;
};

Runtime runtime_of(const Graph& graph) {
  const std::vector<std::optional<std::int64_t>> two(graph.symbols.size(), 2);
  Runtime result;
  result.wide.reserve(graph.values.size());
  result.narrow.reserve(graph.values.size());
  for (ValueId id : graph.nodes[NodeId{0}].inputs) {
    RuntimeInput& input = result.inputs.emplace_back();
    if (!id.valid()) continue;
    const Value& value = graph.values[id];
    input.present = true;
    input.dtype = value.dtype;
    for (const Expr& dim : value.shape) input.dims.push_back(dim.evaluate(two).value_or(0));
    if (!value.content) continue;
    auto& wide = result.wide.emplace_back();
    for (const Expr& e : *value.content) wide.push_back(e.evaluate(two).value_or(0));
    auto& narrow = result.narrow.emplace_back(wide.begin(), wide.end());
    input.bytes = value.dtype == DType::kI64
                      ? reinterpret_cast<const std::byte*>(result.wide.back().data())
                      : reinterpret_cast<const std::byte*>(narrow.data());
  }
  return result;
}

TEST(InferHostileTest, RefusesOrKeepsTheInvariants) {
  std::array<int, kOpCount> accepted{};
  for (std::uint64_t seed = 0; seed < 300 * kOpCount; ++seed) {
    const auto op = static_cast<OpKind>(seed % kOpCount);
    Graph graph = Maker(seed).make(op);
    const Status status = infer_graph(graph);
    const auto runtime = runtime_of(graph);
    (void)infer_runtime(graph.nodes[NodeId{0}], runtime.inputs);  // must not crash
    if (!status) {
      EXPECT_EQ(status.error().node, "n");
      continue;
    }
    ++accepted[static_cast<std::size_t>(op)];
    const Status good = verify(graph, Stage::kLoad);
    EXPECT_TRUE(good) << "seed " << seed << ": " << good.error().message;
  }
  EXPECT_GT(std::count_if(accepted.begin(), accepted.end(), [](int n) { return n > 0; }), 50);
}

}  // namespace
}  // namespace parallax
