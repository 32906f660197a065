#include "ops/control_flow.h"

#include "ops/infer_testing.h"

namespace parallax {
namespace {

/// An If over a captured x [b, 3] whose branches are the given statements.
std::string branches(std::string_view a, std::string_view b,
                     std::string_view condition = "input c bool []") {
  const std::string head = "body\nouter_symbols b\ninput x f32 [b, 3]\n";
  return std::string(condition) + "\ninput x f32 [b, 3]\ny = If(c; x)\n" + head + std::string(a) +
         "\nend\n" + head + std::string(b) + "\nend\noutput y";
}

TEST(IfTest, ShapesAreThoseThatBothBranchesGive) {
  const std::string same = "z = Relu(x)\noutput z";
  const std::string twice = "z = Concat(x, x) {axis = 0}\noutput z";
  const std::string flat = "z = ReduceMax(x) {keepdims = 0}\noutput z";
  const std::string count = "z = Shape(x)\noutput z";
  EXPECT_EQ(inferred(branches(same, "output x")), "float32 bx3");
  // The axis that one branch squeezes has one element, or the If fails.
  const std::string squeezed = "const a i64 [1] = [0]\nz = Squeeze(x, a)\noutput z";
  EXPECT_EQ(inferred(branches(squeezed, "output x")), "float32 3");
  EXPECT_EQ(inferred(branches("z = Identity(x)\noutput z", squeezed)), "float32 3");
  EXPECT_EQ(inferred(branches(same, twice)), "float32 If_0.0x3");
  EXPECT_EQ(inferred(branches(same, twice, "const c bool [] = [0]")), "float32 2*bx3");
  EXPECT_EQ(inferred(branches(same, flat, "const c bool [] = [1]")), "float32 bx3");
  EXPECT_EQ(inferred(branches(same, same, "input c bool [1, 1]")), "float32 bx3");
  EXPECT_EQ(inferred(branches(same, same, "input c bool [s, 1]")), "float32 bx3");
  EXPECT_NE(inferred(branches(same, same, "input c bool [1, 2]")).find("one number"),
            std::string::npos);
  EXPECT_NE(inferred(branches(same, flat)).find("unsupported: If: output 0 has 2 dimensions"),
            std::string::npos);
  EXPECT_NE(inferred(branches(same, count)).find("error: If: output 0 is float32 in one branch"),
            std::string::npos);
  EXPECT_NE(inferred(branches(same, "output x, x")).find("a branch has 2 outputs"),
            std::string::npos);
  EXPECT_NE(inferred(branches(same, same, "input c f32 []")).find("error: If: input 0"),
            std::string::npos);
}

TEST(IfTest, ASymbolOfABodyIsNotThatOfTheGraphAroundItOfTheSameName) {
  // Both graphs have a node NonZero_0, as nodes without a name are numbered.
  const std::string body = "body\ninput n i64 [1, 1]\nz = NonZero(n)\noutput z\nend\n";
  EXPECT_EQ(inferred("input x f32 [4]\ninput c bool []\nn = NonZero(x)\ny = If(c; n)\n" + body +
                     body + "output y"),
            "int64 2xIf_1.0");
}

std::string loop(std::string_view inputs, std::string_view call, std::string_view body) {
  return std::string(inputs) + "\n" + std::string(call) +
         "\nbody\nouter_symbols b\ninput i i64 []\ninput go bool []\ninput v f32 [b, 3]\n" +
         std::string(body) + "\nend\noutput y, s";
}

TEST(LoopTest, FindsWhatStaysTheSame) {
  const std::string inputs =
      "input x f32 [b, 3]\nsymbolic m i64 [] = [s]\ninput n i64 []\ninput c bool []";
  EXPECT_EQ(inferred(loop(inputs, "y, s = Loop(m, _, x)", "w = Relu(v)\noutput go, w, w")),
            "float32 bx3; float32 sxbx3");
  EXPECT_EQ(inferred(loop(inputs, "y, s = Loop(m, c, x)", "w = Relu(v)\noutput go, w, w")),
            "float32 bx3; float32 Loop_0.0xbx3");
  const std::string tensors =
      "input x f32 [b, 3]\nsymbolic m i64 [1, 1] = [s]\ninput c bool [1, 1, 1]";
  EXPECT_EQ(inferred(loop(tensors, "y, s = Loop(m, c, x)", "w = Relu(v)\noutput go, w, w")),
            "float32 bx3; float32 Loop_0.0xbx3");
  EXPECT_EQ(inferred(loop(inputs, "y, s = Loop(n, _, x)",
                          "w = Concat(v, v) {axis = 0}\noutput go, w, w")),
            "float32 Loop_0.0x3; float32 Loop_0.1xLoop_0.2x3");
}

TEST(LoopTest, RefusesWhatDoesNotGoTogether) {
  const std::string inputs = "input x f32 [b, 3]\ninput n i64 []\ninput c bool []";
  const struct {
    const char *call, *body, *message;
  } cases[] = {
      {"y, s = Loop(n, _, x)", "output go, v", "the body has 2 outputs, the node 2"},
      {"y, s = Loop(n, _, x)", "output go", "the body has 1 outputs, the node 2"},
      {"y, s = Loop(n, _)", "output go, v, v", "the body has 3 inputs, must have 2"},
      {"y, s = Loop(n)", "output go, v, v", "must have a limit and a condition"},
      {"y, s = Loop(n, _, _)", "output go, v, v", "input 2 is left out"},
      {"y, s = Loop(x, _, x)", "output go, v, v", "Loop: input 0"},
      {"y, s = Loop(n, n, x)", "output go, v, v", "Loop: input 1"},
      {"y, s = Loop(n, _, x)", "output v, v, v", "the body's condition is not bool"},
      {"y, s = Loop(n, _, x)", "w = Shape(v)\noutput go, w, v", "comes back as int64"},
      {"y, s = Loop(n, _, x)", "w = Flatten(v)\nz = ReduceMax(v) {keepdims = 0}\noutput go, z, w",
       "carried with 2 dimensions and comes back with 0"},
      {"y = Relu(x)\ns = Relu(x)", "output go, v, v", "does not take a body"},
  };
  for (const auto& c : cases) {
    const std::string result = inferred(loop(inputs, c.call, c.body));
    EXPECT_NE(result.find(c.message), std::string::npos) << result << "\nhas no: " << c.message;
  }
}

TEST(ScanTest, CutsTheAxisAway) {
  const std::string_view body =
      "body\nouter_symbols b s\ninput a f32 [b]\ninput x f32 [b]\nz = Add(a, x)\noutput z, z\nend\n"
      "output y, t";
  const auto scan = [&](std::string_view attributes) {
    return inferred("input a f32 [b]\ninput x f32 [b, s]\ny, t = Scan(a, x) {" +
                    std::string(attributes) + "}\n" + std::string(body));
  };
  EXPECT_EQ(scan("num_scan_inputs = 1, scan_input_axes = [1]"), "float32 b; float32 sxb");
  EXPECT_EQ(scan("num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1]"),
            "float32 b; float32 bxs");
  for (const auto* bad :
       {"num_scan_inputs = 1, scan_input_axes = [2]", "num_scan_inputs = 0", "num_scan_inputs = 3",
        "num_scan_inputs = 1, scan_input_directions = [2], scan_input_axes = [1]",
        "num_scan_inputs = 1, scan_input_axes = [1, 1]",
        "num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [5]"})
    EXPECT_EQ(scan(bad).substr(0, 6), "error:") << bad << ": " << scan(bad);
}

}  // namespace
}  // namespace parallax
