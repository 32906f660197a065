#include "load/onnx/known_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;
using Known = std::vector<KnownInput>;

/// ValueInfoProto of a float tensor without a shape.
std::string without_shape(std::string_view name) {
  const std::string tensor = message([&](protozero::pbf_writer& w) { w.add_int32(1, kOnnxFloat); });
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, name.data(), name.size());
    w.add_message(2, message([&](protozero::pbf_writer& t) { t.add_message(1, tensor); }));
  });
}

/// y = x + w, where w has the default 1.
TestGraph sum(const std::string& x) {
  return {{node("Add", {"x", "w"}, {"y"})},
          {float_tensor("w", {1}, {1})},
          {x, value_info("w", kOnnxFloat, {Dim(1)})},
          {value_info("y")}};
}

Result<Graph> load_known(const TestGraph& graph, const Known& known, std::int64_t ir_version = 8) {
  std::string bytes = model(graph);
  bytes +=
      message([&](protozero::pbf_writer& w) { w.add_int64(1, ir_version); });  // the last counts
  auto owner = std::make_shared<std::string>(std::move(bytes));
  return load_onnx({std::as_bytes(std::span(*owner)), owner, {}}, {.inputs = known});
}

std::string inputs_of(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs)
    text +=
        graph.values[id].name + " " + to_string(graph.values[id].shape, graph.symbol_names()) + ";";
  return text;
}

TEST(KnownInputs, HaveTheSizesThatAreKnown) {
  const std::string named = value_info("x", kOnnxFloat, {Dim(2), Dim("n"), Dim("n"), Dim()});
  struct Row {
    std::string x;
    Known known;
    std::string inputs;
  };
  for (const Row& row : {
           Row{named, {}, "x 2xnxnxx_dim_3;"},
           Row{named, {{"x"}}, "x 2xnxnxx_dim_3;"},
           Row{named, {{"x", Ints{-1, 3, -1, 4}}}, "x 2x3xnx4;"},
           Row{named, {{"x", Ints{2, 3, 5, -1}}}, "x 2x3x5xx_dim_3;"},
           Row{without_shape("x"), {{"x", Ints{}}}, "x scalar;"},
           Row{without_shape("x"), {{"x", Ints{-1, 0}}}, "x x_dim_0x0;"},
           Row{named, {{"w"}}, "x 2xnxnxx_dim_3;w 1;"},
       }) {
    const auto graph = load_known(sum(row.x), row.known);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(inputs_of(*graph), row.inputs);
  }
}

TEST(KnownInputs, AreRefusedWhereTheFileSaysOtherwise) {
  const std::string x = value_info("x", kOnnxFloat, {Dim(2), Dim("n")});
  struct Row {
    Known known;
    std::int64_t ir_version;
    std::string message;
  };
  for (const Row& row : {
           Row{{{"z"}}, 8, "input 'z' is not among the model's"},
           Row{{{"x"}, {"x"}}, 8, "input 'x' is given twice"},
           Row{{{"x", Ints{2}}}, 8, "input 'x' has 2 dimensions, 1 are given"},
           Row{{{"x", Ints{3, 1}}}, 8, "cannot have size 3 in dimension 0, the file's is 2"},
           Row{{{"x", Ints{2, -2}}}, 8, "cannot have size -2 in dimension 1"},
           Row{{{"w"}}, 3, "input 'w' is a constant of this model (IR version 3"},
       }) {
    const auto graph = load_known(sum(x), row.known, row.ir_version);
    ASSERT_FALSE(graph) << row.message;
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(graph.error().message, HasSubstr(row.message));
  }
}

TEST(KnownInputs, DecideTheBranchOfAnIf) {
  const TestGraph squeezed = {{node("Squeeze", {"x"}, {"s"})}, {}, {}, {value_info("s")}};
  const TestGraph kept = {{node("Identity", {"x"}, {"k"})}, {}, {}, {value_info("k")}};
  const TestGraph graph = {
      {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "first"}, {"size"}),
       node("Equal", {"size", "one"}, {"is_one"}),
       node("If", {"is_one"}, {"y"},
            {graph_attribute("then_branch", squeezed.bytes()),
             graph_attribute("else_branch", kept.bytes())})},
      {raw_tensor("first", kOnnxInt64, {}, raw_data(Ints{0})),
       raw_tensor("one", kOnnxInt64, {}, raw_data(Ints{1}))},
      {value_info("x", kOnnxFloat, {Dim("n"), Dim(3)})},
      {value_info("y")}};
  const auto open = load_known(graph, {});
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("LoadOptions::inputs"));
  for (const auto& [size, rank] : {std::pair{1, 1U}, std::pair{2, 2U}}) {
    const auto loaded = load_known(graph, {{"x", Ints{size, -1}}});
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_EQ(loaded->values[loaded->outputs[0]].shape.size(), rank);
  }
}

}  // namespace
}  // namespace parallax
