#include "load/onnx/onnx.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/text/text.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using protozero::pbf_writer;

const std::string kTypedX = value_info("x", kOnnxFloat, {Dim("batch"), Dim(3), Dim(8), Dim(8)});

/// A convolution, shape arithmetic and a constant of every encoding.
TestGraph sample_graph() {
  const std::string shape = tensor_attribute("value", int_tensor("", {0, -1}));
  const std::string bias = tensor_head("b", kOnnxFloat, {2}) + message([](pbf_writer& w) {
                             w.add_float(4, 1);
                             w.add_float(4, 2);
                           });
  const std::string index =
      tensor_head("i", kOnnxInt64, {1}) + message([](pbf_writer& w) { w.add_int64(7, 1); });
  return {{node("Conv", {"x", "w", "b"}, {"c"}, {attribute("kernel_shape", Ints{3, 3})}, "conv"),
           node("Relu", {"c"}, {"r"}), node("Constant", {}, {"s"}, {shape}),
           node("Reshape", {"r", "s"}, {"f"}),
           node("Gather", {"f", "i"}, {"y"}, {attribute("axis", 1)}, "last")},
          {float_tensor("w", {2, 3, 3, 3}, std::vector<float>(54, 0.5F)), bias, index},
          {kTypedX},
          {value_info("y", kOnnxFloat, {Dim("batch"), Dim(1)})}};
}

TEST(LoadOnnx, ReadsAModel) {
  const auto graph = load(model(sample_graph()));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(print(*graph).substr(0, print(*graph).find("const ")),
            "graph g\n"
            "symbols batch\n"
            "input x f32 [batch, 3, 8, 8]\n");
  ASSERT_EQ(graph->outputs.size(), 1U);
  EXPECT_EQ(to_string(graph->values[graph->outputs[0]].shape, graph->symbol_names()), "batchx1");
  EXPECT_TRUE(verify(*graph, Stage::kLoad));
}

/// Whatever a file says, the answer is a sound graph or one line that blames the file.
void expect_graph_or_error(const Result<Graph>& graph) {
  if (graph) {
    const auto status = verify(*graph, Stage::kLoad);
    EXPECT_TRUE(status) << status.error().to_string();
    return;
  }
  EXPECT_EQ(graph.error().stage, Stage::kLoad);
  EXPECT_TRUE(graph.error().code == ErrorCode::kInvalidModel ||
              graph.error().code == ErrorCode::kUnsupported)
      << graph.error().to_string();
  EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos);
}

TEST(LoadOnnx, RefusesAModelCutAnywhere) {
  const std::string whole = model(sample_graph());
  ASSERT_TRUE(load(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto graph = load(whole.substr(0, size));
    ASSERT_FALSE(graph) << "cut after " << size << " of " << whole.size() << " bytes";
    expect_graph_or_error(graph);
  }
}

TEST(LoadOnnx, SurvivesDamage) {
  const std::string whole = model(sample_graph());
  std::mt19937 random(1);  // NOLINT: the same mutants at every run
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    expect_graph_or_error(load(damaged));
  }
}

TEST(LoadOnnx, SurvivesNoise) {
  std::mt19937 random(2);  // NOLINT: the same noise at every run
  for (int i = 0; i < 1000; ++i) {
    std::string noise(random() % 200, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    expect_graph_or_error(load(noise));
  }
}

/// A file and a part of its message.
struct BadFile {
  std::string bytes;
  const char* message;
  ErrorCode code = ErrorCode::kInvalidModel;
};

TestGraph with_input(const std::string& input) {
  return {{node("Identity", {"x"}, {"y"})}, {}, {input}, {value_info("y")}};
}

std::string untyped_shape() {
  return message([](pbf_writer& w) {
    w.add_string(1, "x");
    w.add_message(2, message([](pbf_writer& t) {
                    t.add_message(1, message([](pbf_writer& d) { d.add_int32(1, 1); }));
                  }));
  });
}

std::string sequence_type() {
  return message([](pbf_writer& w) {
    w.add_string(1, "x");
    w.add_message(2, message([](pbf_writer& t) { t.add_bytes(4, "", 0); }));
  });
}

void expect_bad(std::span<const BadFile> cases) {
  for (const BadFile& c : cases) {
    const auto result = load(c.bytes);
    ASSERT_FALSE(result) << c.message;
    expect_graph_or_error(result);
    EXPECT_EQ(result.error().code, c.code) << result.error().to_string();
    EXPECT_NE(result.error().to_string().find(c.message), std::string::npos)
        << result.error().to_string() << "\nhas no: " << c.message;
  }
}

TEST(LoadOnnx, SaysWhatIsWrongWithAFile) {
  const std::string graph = sample_graph().bytes();
  const std::string imports = opset_import(17);
  TestGraph sparse = sample_graph(), repeated = sample_graph(), declared = sample_graph();
  repeated.initializers.push_back(repeated.initializers[0]);
  declared.outputs = {value_info("y", kOnnxInt64, {})};
  TestGraph twice = with_input(kTypedX), reference = with_input(kTypedX);
  twice.nodes = {node("Flatten", {"x"}, {"y"}, {attribute("axis", 1), attribute("axis", 1)}, "f")};
  reference.nodes = {
      node("Flatten", {"x"}, {"y"},
           {attribute("axis", 1) + message([](pbf_writer& w) { w.add_string(21, "axis"); })})};
  TestGraph constant = with_input(kTypedX);
  constant.nodes = {node("Constant", {}, {"y"}, {attribute("value_text", "a")}, "c")};
  TestGraph complex = with_input(kTypedX);
  complex.nodes = {node("Constant", {}, {"y"},
                        {tensor_attribute("value", raw_tensor("h", 14, {1}, "abcdefgh"))}, "c")};
  const BadFile cases[] = {
      {"", "empty"},
      {"# A README\n\nof some project", "not an ONNX model"},
      {std::string(100, '\0'), "not an ONNX model"},
      {message([](pbf_writer& w) { w.add_int64(1, 8); }), "no graph"},
      {fields(graph, {}), "imports no operator set"},
      {fields(graph, {opset_import(3, "ai.onnx.ml")}), "Conv (ai.onnx not imported) x1",
       ErrorCode::kUnsupported},
      {fields(graph, {imports}, -1), "ir_version"},
      {fields(graph, {imports}, 2), "IR version 2", ErrorCode::kUnsupported},
      {fields(graph, {imports}, 99), "IR version 99", ErrorCode::kUnsupported},
      {fields(graph, {opset_import(29)}), "operator set 29", ErrorCode::kUnsupported},
      {fields(graph, {imports}) + fields(graph, {}), "the graph occurs twice"},
      {fields(graph + message([](pbf_writer& w) { w.add_bytes(15, "", 0); }), {imports}),
       "initializer has no name"},
      {model(repeated), "'w' is defined twice"},
      {model(declared), "declared as int64 but is float32"},
      {model(twice), "occurs twice"},
      {model(reference), "refers to a function"},
      {model(constant), "value_text", ErrorCode::kUnsupported},
      {model(complex), "complex64", ErrorCode::kUnsupported},
      {model({{node("", {"x"}, {"y"}, {}, "n")}, {}, {kTypedX}, {value_info("y")}}),
       "node 'n': a node has no operator"},
      {model({{node("Identity", {"x"}, {"y"}, {attribute_head("", 2)})}, {}, {kTypedX}, {}}),
       "attribute has no name"},
      {model({{node("Identity", {"x"}, {"y"}, {attribute_head("a", 77)})}, {}, {kTypedX}, {}}),
       "unknown type 77"},
      {model({{node("Identity", {"x"}, {"y"})}, {float_tensor("", {1}, {1})}, {kTypedX}, {}}),
       "initializer has no name"},
      {model({{node("Add", {"x", "w"}, {"y"}, {}, "sum")},
              {float_tensor("w", {5}, std::vector<float>(5))},
              {kTypedX},
              {value_info("y")}}),
       "node 'sum'"},
  };
  expect_bad(cases);
}

TEST(LoadOnnx, SaysWhatIsWrongWithAnInput) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 33;
  const BadFile cases[] = {
      {model(with_input(value_info("x"))), "has no type"},
      {model(with_input(untyped_shape())), "has no shape", ErrorCode::kUnsupported},
      {model(with_input(sequence_type())), "has a type that is not", ErrorCode::kUnsupported},
      {model(with_input(value_info("x", 14, {Dim(1)}))), "complex64", ErrorCode::kUnsupported},
      {model(with_input(value_info("x", kOnnxFloat, {Dim(kHuge), Dim("n"), Dim(kHuge)}))),
       "overflows"},
      {model(with_input(value_info("x", kOnnxFloat, std::vector<Dim>(9, Dim(1))))), "9 dimensions",
       ErrorCode::kUnsupported},
      {model(with_input(value_info("x\n", kOnnxFloat, {}))), "control character"},
      {model(with_input(value_info("x", kOnnxFloat, {Dim("a\n")}))), "control character"},
      {model(with_input(value_info("", kOnnxFloat, {}))), "no name"},
  };
  expect_bad(cases);
}

std::string shape_of_input(const std::vector<Dim>& dims) {
  const auto graph = load(model(with_input(value_info("x", kOnnxFloat, dims))));
  if (!graph) return graph.error().to_string();
  return to_string(graph->values[graph->inputs[0]].shape, graph->symbol_names());
}

TEST(LoadOnnx, MakesSymbolsOfDimensions) {
  EXPECT_EQ(shape_of_input({Dim("n"), Dim(3), Dim("n"), Dim("m")}), "nx3xnxm");
  EXPECT_EQ(shape_of_input({Dim(), Dim(-1), Dim(0), Dim("?"), Dim("")}),
            "x_dim_0xx_dim_1x0xx_dim_3xx_dim_4");
  EXPECT_EQ(shape_of_input({Dim("x_dim_1"), Dim()}), "x_dim_1xx_dim_1_");
  EXPECT_EQ(shape_of_input({}), "scalar");
}

/// A SparseTensorProto of floats.
std::string sparse(const Ints& dims, const Ints& index_dims, const Ints& indices) {
  return message([&](pbf_writer& w) {
    w.add_message(1, float_tensor("s", {2}, {1.5F, 2.5F}));
    w.add_message(2, raw_tensor("", kOnnxInt64, index_dims, raw_data(indices)));
    w.add_packed_int64(3, dims.begin(), dims.end());
  });
}

Result<Graph> load_sparse(const std::string& tensor, bool initializer) {
  TestGraph graph = with_input(kTypedX);
  graph.outputs = {value_info(initializer ? "s" : "y")};
  if (!initializer) {
    graph.nodes = {node("Constant", {}, {"y"},
                        {attribute_head("sparse_value", 11) +
                         message([&](pbf_writer& w) { w.add_message(22, tensor); })})};
  }
  std::string bytes = graph.bytes();
  if (initializer) bytes += message([&](pbf_writer& w) { w.add_message(15, tensor); });
  return load(fields(bytes, {opset_import(17)}));
}

TEST(LoadOnnx, FillsSparseTensors) {
  for (const bool initializer : {true, false}) {
    for (const std::string& tensor :
         {sparse({2, 3}, {2}, {1, 5}), sparse({2, 3}, {2, 2}, {0, 1, 1, 2})}) {
      const auto graph = load_sparse(tensor, initializer);
      ASSERT_TRUE(graph) << graph.error().to_string();
      EXPECT_NE(print(*graph).find("f32 [2, 3] = [0.0, 1.5, 0.0, 0.0, 0.0, 2.5]"),
                std::string::npos)
          << print(*graph);
    }
  }
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (const std::string& tensor :
       {sparse({2, 3}, {2}, {1, 6}), sparse({2, 3}, {2}, {-1, 0}), sparse({2, 3}, {1}, {1}),
        sparse({2, 3}, {2, 3}, Ints(6)), sparse({kMany}, {2}, {1, 2}),
        sparse({kMany, kMany}, {2}, {1, 2}), sparse({-1}, {2}, {0, 0})})
    EXPECT_FALSE(load_sparse(tensor, true));
}

/// A tensor whose elements are in a file that does not exist.
std::string stored_nowhere(std::string_view name) {
  return tensor_head(name, kOnnxFloat, {3}) + message([](pbf_writer& w) {
           w.add_message(13, message([](pbf_writer& entry) {
                           entry.add_string(1, "location");
                           entry.add_string(2, "gone.bin");
                         }));
           w.add_enum(14, 1);
         });
}

TEST(LoadOnnx, WhatNothingReadsDecidesNothing) {
  const std::string expected = print(*load(model(with_input(kTypedX))));
  TestGraph odd = with_input(kTypedX);
  for (const int type : {4, kOnnxString, kOnnxHalf, kOnnxDouble, 14, 15, 77})
    odd.initializers.push_back(raw_tensor("t" + std::to_string(type), type, {1}, "?"));
  odd.initializers.push_back(float_tensor("short", {1000}, {1}));
  odd.initializers.push_back(stored_nowhere("nowhere"));
  odd.inputs.push_back(value_info("t14"));  // up to IR version 3 initializers are inputs too
  odd.inputs.push_back(value_info("nowhere", kOnnxFloat, {Dim(4)}));
  odd.inputs.push_back(value_info("complex", 14, {Dim(1)}));
  odd.inputs.push_back(value_info("untyped"));
  odd.nodes.push_back(node("Constant", {}, {"c"}, {attribute("value_text", "a")}));
  auto graph = load(model(odd));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(print(*graph), expected);

  std::string bytes = with_input(kTypedX).bytes();
  bytes += message([](pbf_writer& w) { w.add_message(15, sparse({-1}, {2}, {0, 0})); });
  graph = load(fields(bytes, {opset_import(17)}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(print(*graph), expected);

  // In a body, and read by one.
  TestGraph inner{{node("Relu", {"x"}, {"b"})}, {stored_nowhere("n")}, {}, {value_info("b")}};
  const auto branches = [&] {
    return Names{graph_attribute("then_branch", inner.bytes()),
                 graph_attribute("else_branch", inner.bytes())};
  };
  TestGraph outer = with_input(kTypedX);
  outer.inputs.push_back(value_info("k", kOnnxBool, {}));
  outer.nodes = {node("If", {"k"}, {"y"}, branches())};
  graph = load(model(outer));
  EXPECT_TRUE(graph) << graph.error().to_string();
  outer.initializers.push_back(stored_nowhere("outside"));
  inner.nodes = {node("Mul", {"x", "outside"}, {"b"})};
  outer.nodes = {node("If", {"k"}, {"y"}, branches())};
  EXPECT_FALSE(load(model(outer)));
  // So does the caller.
  TestGraph given = with_input(kTypedX);
  given.initializers.push_back(stored_nowhere("n"));
  given.outputs.push_back(value_info("n"));
  EXPECT_FALSE(load(model(given)));
}

TEST(LoadOnnx, AnInputThatNothingReadsStays) {
  TestGraph graph = with_input(kTypedX);
  graph.inputs.push_back(value_info("unread", kOnnxFloat, {Dim("n")}));
  const auto loaded = load(model(graph));
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->inputs.size(), 2U);
}

TEST(LoadOnnx, OperatorSetsThatNoNodeNeedsDecideNothing) {
  const std::string graph = with_input(kTypedX).bytes();
  const Names imports = {opset_import(17), opset_import(99, "ai.onnx.ml"),
                         opset_import(1, "com.acme")};
  EXPECT_TRUE(load(fields(graph, imports)));
  TestGraph learning = with_input(value_info("x", kOnnxFloat, {Dim("n"), Dim(3)}));
  learning.nodes = {node("Normalizer", {"x"}, {"y"}, {attribute("norm", "L2")}, {}, "ai.onnx.ml")};
  const auto loaded =
      load(fields(learning.bytes(), {opset_import(99), opset_import(3, "ai.onnx.ml")}));
  EXPECT_TRUE(loaded) << loaded.error().to_string();
}

TEST(LoadOnnx, TakesInitializersThatAreInputsAsConstants) {
  TestGraph graph = sample_graph();
  graph.inputs.push_back(value_info("w", kOnnxFloat, {Dim(2), Dim(3), Dim(3), Dim(3)}));
  graph.inputs.push_back(value_info("b"));
  const auto loaded = load(model(graph));
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->inputs.size(), 1U);
  for (const std::string& wrong : {value_info("w", kOnnxInt64, {}), value_info("w", kOnnxFloat, {}),
                                   value_info("w", kOnnxFloat, {Dim(2), Dim(3), Dim(3), Dim(4)})}) {
    graph.inputs[1] = wrong;
    EXPECT_FALSE(load(model(graph)));
  }
}

TEST(LoadOnnx, ReadsEveryFormOfConstant) {
  const struct {
    std::string attribute;
    const char* text;
  } cases[] = {
      {attribute("value_int", 7), "i64 [] = [7]"},
      {attribute("value_float", 0.5F), "f32 [] = [0.5]"},
      {attribute("value_ints", Ints{1, -2}), "i64 [2] = [1, -2]"},
      {attribute("value_floats", std::vector<float>{1.5F, 2.5F}), "f32 [2] = [1.5, 2.5]"},
      {tensor_attribute("value", raw_tensor("", kOnnxInt8, {1, 1}, "\x05")), "i8 [1, 1] = [5]"},
  };
  for (const auto& c : cases) {
    TestGraph graph;
    graph.nodes = {node("Constant", {}, {"y"}, {c.attribute})};
    graph.outputs = {value_info("y")};
    const auto loaded = load(model(graph));
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_TRUE(loaded->nodes.empty());
    EXPECT_NE(print(*loaded).find(c.text), std::string::npos) << print(*loaded);
  }
}

TEST(LoadOnnx, IgnoresWhatRunningDoesNotNeed) {
  const std::string extra = message([](pbf_writer& w) {
    w.add_string(6, "a comment");
    w.add_message(14, std::string("\x0a\x01k\x12\x01v"));
    w.add_bytes(20, "", 0);  // training
    w.add_bytes(25, "", 0);  // a function that is not called
    w.add_uint32(1000, 5);   // a field of the future
  });
  EXPECT_TRUE(load(model(sample_graph()) + extra));
}

TEST(LoadOnnx, TakesLongChainsInLinearTime) {
  TestGraph graph = with_input(kTypedX);
  graph.nodes.clear();
  constexpr int kNodes = 20000;
  for (int i = kNodes; i > 0; --i) {  // in reverse order, all of one name
    graph.nodes.push_back(node("Relu", {i == 1 ? "x" : "v" + std::to_string(i - 1)},
                               {"v" + std::to_string(i)}, {}, "same"));
  }
  graph.outputs = {value_info("v" + std::to_string(kNodes))};
  const auto loaded = load(model(graph));
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->nodes.size(), static_cast<std::size_t>(kNodes));
}

}  // namespace
}  // namespace parallax
