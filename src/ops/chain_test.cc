#include "ops/chain.h"

#include <gtest/gtest.h>

#include "ops/infer_testing.h"

namespace parallax {
namespace {

const std::string kTwo = "input x f32 [b, 3]\ninput r f32 [3]\n";

TEST(ElementwiseChain, GivesWhatItsStepsGive) {
  check_rows({
      {kTwo + "y = ElementwiseChain(x, r) {steps = strings [\"Mul\", \"Tanh\"], "
              "program = [0, 2, 1, 2, 0, 1, -1], results = [1]}\noutput y",
       "float32 bx3"},
      {kTwo + "y, z = ElementwiseChain(x, r) {steps = strings [\"Cast\", \"Cast\"], "
              "program = [21, 1, 1, 0, 1, -1], results = [1, 0], "
              "parameters = strings [\"0 to i 7\", \"1 to i 1\"]}\noutput y, z",
       "float32 bx3; int64 bx3"},
  });
}

TEST(ElementwiseChain, RefusesProgramsThatAreNone) {
  const auto chain = [](std::string_view attributes) {
    return kTwo + "y = ElementwiseChain(x, r) {" + std::string(attributes) + "}\noutput y";
  };
  const std::string rows[] = {
      chain("results = [0]"),
      chain("steps = strings [\"Nothing\"], program = [0, 1, 1], results = [0]"),
      chain("steps = strings [\"MatMul\"], program = [0, 2, 1, 2], results = [0]"),
      chain("steps = strings [\"ElementwiseChain\"], program = [0, 1, 1], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 3], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, -1], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 1, 7], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 1], results = [1]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 1], results = []"),
      chain("steps = strings [\"Exp\"], program = [99, 1, 1], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 9223372036854775807, 1], results = [0]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 1], results = [0], "
            "parameters = strings [\"1 a i 2\"]"),
      chain("steps = strings [\"Exp\"], program = [0, 1, 1], results = [0], "
            "parameters = strings [\"0 a\"]"),
  };
  for (const std::string& row : rows) check_refusals({{row, "program is not valid"}});
}

TEST(ElementwiseChain, RefusesStepsThatOperatorsRefuse) {
  check_refusals({
      {kTwo + "y = ElementwiseChain(x, r) {steps = strings [\"Exp\"], program = [0, 1, 0], "
              "results = [0]}\noutput y",
       "0 inputs"},
      {kTwo + "y = ElementwiseChain(x, r) {steps = strings [\"Exp\"], program = [12, 1, 1], "
              "results = [0]}\noutput y",
       "another type"},
      {kTwo + "y = ElementwiseChain(x, r) {steps = strings [\"Exp\", \"Exp\"], "
              "program = [0, 1, 1, 0, 1, 2], results = [1]}\noutput y",
       "different shapes"},
      {kTwo + "y = ElementwiseChain(x, r) {steps = strings [\"Exp\"], program = [0, 1, 1], "
              "results = [0], parameters = strings [\"0 a i 2\"]}\noutput y",
       "not known"},
  });
}

TEST(ElementwiseChain, KeepsAttributesOfSteps) {
  ChainProgram program;
  ChainStep step;
  step.op = OpKind::kSilu;
  step.attributes.set("alpha", 0.1F);
  step.operands = {{ChainOperand::Kind::kInput, 0}};
  program.steps = {step};
  step.op = OpKind::kGelu;
  step.attributes = {};
  step.attributes.set("approximate", std::string("tanh"));
  step.operands = {{ChainOperand::Kind::kStep, 0}};
  program.steps.push_back(step);
  program.results = {1};
  Node node{"n", OpKind::kElementwiseChain, write_chain(program), {ValueId{0}}, {ValueId{1}}};
  const auto read = read_chain(node);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps[0].attributes.get_float("alpha", 0), 0.1F);
  EXPECT_EQ(read->steps[1].attributes.get_string("approximate", ""), "tanh");
  EXPECT_EQ(chain_text(node), "[Silu Gelu]");
}

}  // namespace
}  // namespace parallax
