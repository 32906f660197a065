// Helpers for tests of partitions: a graph with its sizes, and a delegate.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "partition/partition.h"

namespace parallax {

struct Planned {
  Graph graph;
  ConcreteShapes shapes;
};

inline Planned make_planned(std::string_view text) {
  Planned planned;
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  planned.graph = *std::move(graph);
  const auto status = infer_graph(planned.graph);
  EXPECT_TRUE(status) << status.error().message;
  Binding binding;
  binding.symbols.resize(planned.graph.symbols.size());
  auto shapes = concrete_shapes(planned.graph, binding);
  EXPECT_TRUE(shapes) << shapes.error().message;
  planned.shapes = *std::move(shapes);
  return planned;
}

/// 1e9 MAC/s against the CPU's 1e8, 1 GB/s, 1 ms to launch.
inline Delegate gpu() {
  Delegate delegate{"gpu", 1e-3, 1e9, 1e9, 1e8, 1 << 30, {}};
  for (const OpKind op : {OpKind::kMatMul, OpKind::kRelu, OpKind::kAdd, OpKind::kReshape}) {
    delegate.operators[op].dtypes = {DType::kF32};
  }
  return delegate;
}

// 64^3 = 262,144 MAC a product: 2.6 ms on the CPU.
inline constexpr std::string_view kTwoProducts = R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
a = MatMul(x, w)
b = Relu(a)
c = Exp(b)
d = MatMul(c, w)
e = Relu(d)
f = NonZero(e)
output f
)";

}  // namespace parallax
