#include "simplify/control_flow.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

std::string after_passes(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) return graph.error().message;
  if (auto status = infer_graph(*graph); !status) return status.error().message;
  if (auto reports = run_passes(simplify_passes(), *graph, {}); !reports)
    return reports.error().message;
  return print(*graph);
}

TEST(ControlFlowPasses, AKnownConditionLeavesItsBranch) {
  EXPECT_EQ(after_passes(R"(
      symbols n
      input x f32 [n, 2]
      shape = Shape(x) {start = 1}
      const two i64 [1] = [2]
      c = Equal(shape, two)
      y = If(c; x)
      body
        outer_symbols n
        input x f32 [n, 2]
        z = Relu(x) @inner
        output z
      end
      body
        outer_symbols n
        input x f32 [n, 2]
        output x
      end
      output y)"),
            "symbols n\ninput x f32 [n, 2]\ny: f32 [n, 2] = Relu(x) @\"If_2/inner\"\noutput y\n");
}

TEST(ControlFlowPasses, BodiesAreRewrittenToo) {
  const std::string text = after_passes(R"(
      symbols n
      input c bool []
      input x f32 [n, 2]
      input unread f32 [n]
      const k f32 [1] = [3]
      shape = Shape(x)
      y, dead = If(c; x, unread, k, shape)
      body
        input x f32 []
        input u f32 []
        input k f32 []
        input s i64 []
        r = Sigmoid(x)
        z = Mul(x, r)
        w = Add(z, k)
        v = Reshape(w, s)
        d = Exp(u)
        output v, d
      end
      body
        input x f32 []
        input u f32 []
        input k f32 []
        input s i64 []
        output x, u
      end
      output y)");
  EXPECT_EQ(text, R"(symbols n
input c bool []
input x f32 [n, 2]
input unread f32 [n]
y: f32 [n, 2] = If(c; x) @If_1
body
  outer_symbols n
  input x f32 [n, 2]
  const k f32 [1] = [3.0]
  r: f32 [n, 2] = Sigmoid(x) @Sigmoid_0
  z: f32 [n, 2] = Mul(x, r) @Mul_1
  v: f32 [n, 2] = Add(z, k) @Add_2
  output v
end
body
  outer_symbols n
  input x f32 [n, 2]
  output x
end
output y
)");
}

}  // namespace
}  // namespace parallax
