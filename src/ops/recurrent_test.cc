#include "ops/recurrent.h"

#include "ops/infer_testing.h"

namespace parallax {
namespace {

/// X [s, b, 4], two directions where asked for, hidden 3.
std::string recurrent_text(int gates, int directions, const std::string& rest,
                           const char* x = "[s, b, 4]") {
  const std::string d = std::to_string(directions), rows = std::to_string(3 * gates);
  return std::string("input x f32 ") + x + "\ninput w f32 [" + d + ", " + rows +
         ", 4]\ninput r f32 [" + d + ", " + rows + ", 3]\ninput n i32 [b]\ninput h f32 [" + d +
         ", b, 3]\ninput q f32 [" + d + ", 9]\ninput bias f32 [" + d + ", " +
         std::to_string(6 * gates) + "]\n" + rest;
}

TEST(RecurrentTest, Shapes) {
  check_rows({
      {recurrent_text(
           4, 1, "y, yh, yc = LSTM(x, w, r, bias, n, h, h, q)\noutput y\noutput yh\noutput yc"),
       "float32 sx1xbx3; float32 1xbx3; float32 1xbx3"},
      {recurrent_text(3, 2,
                      "y, yh = GRU(x, w, r, bias) {direction = \"bidirectional\", "
                      "linear_before_reset = 1}\noutput y\noutput yh"),
       "float32 sx2xbx3; float32 2xbx3"},
      {recurrent_text(1, 1,
                      "y, yh = RNN(x, w, r) {layout = 1, activations = strings [\"relu\"]}\n"
                      "output y\noutput yh",
                      "[b, s, 4]"),
       "float32 bxsx1x3; float32 bx1x3"},
      {recurrent_text(1, 1,
                      "y = RNN(x, w, r) {activations = strings [\"Tanh\", \"Tanh\"]}\noutput y"),
       "float32 sx1xbx3"},
  });
}

TEST(RecurrentTest, Refusals) {
  const auto lstm = [](const std::string& attributes, const char* inputs = "x, w, r") {
    return recurrent_text(4, 1,
                          std::string("y = LSTM(") + inputs + ") {" + attributes + "}\noutput y");
  };
  check_refusals({
      {lstm("direction = \"up\""), "direction 'up'"},
      {lstm("direction = \"bidirectional\""), "size in axis 0"},
      {lstm("layout = 2"), "layout"},
      {lstm("input_forget = -1"), "input_forget"},
      {lstm("hidden_size = 4"), "hidden_size"},
      {lstm("clip = -1.0"), "clip"},
      {lstm("activations = strings [\"Tanh\"]"), "1 activations, must be 3"},
      {lstm("activations = strings [\"Tanh\", \"Tanh\", \"Cube\"]"), "standard does not name"},
      {lstm("layout = 0", "x, w, r, q"), "size in axis 1"},
      {lstm("layout = 0", "x, w, r, _, n, _, _, bias"), "size in axis 1"},
      {lstm("layout = 0", "x, w, r, n"), "input 3 is"},
      {lstm("layout = 0", "x, w, w"), "axis"},
      {lstm("layout = 0", "x, w, r, _, h"), "may not be"},
      {lstm("layout = 0", "w, w, r, _, _, w"), "axis"},
  });
}

TEST(RecurrentTest, ActivationsConsumeParametersInTheirOrder) {
  Node node;
  node.op = OpKind::kLSTM;
  node.attributes.set("activations", std::vector<std::string>{"Relu", "LeakyRelu", "HardSigmoid"});
  node.attributes.set("activation_alpha", std::vector<float>{0.5F});
  node.attributes.set("activation_beta", std::vector<float>{0.25F});
  const auto spec = recurrence_of(node);
  ASSERT_TRUE(spec.has_value());
  const auto& a = spec->activations[0];
  EXPECT_EQ(a[0], (GateActivation{GateFunction::kRelu, 0, 0}));
  EXPECT_EQ(a[1], (GateActivation{GateFunction::kLeakyRelu, 0.5F, 0}));
  EXPECT_EQ(a[2], (GateActivation{GateFunction::kHardSigmoid, 0.2F, 0.25F}));
}

}  // namespace
}  // namespace parallax
