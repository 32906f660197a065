// A small model with branches, and names of schedulers, for tests of sessions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/session.h"

namespace parallax {

/// Two branches, nodes with several tiles.
inline constexpr std::string_view kTwoBranches = R"(
    symbols n
    input x f32 [n, 64]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    b1 = Tanh(s)
    b2 = Abs(b1)
    y = Add(a2, b2)
    output y)";

/// Rows for it.
struct BranchesInput {
  explicit BranchesInput(std::int64_t rows) : x(*Tensor::allocate(DType::kF32, {rows, 64})) {
    for (std::int64_t i = 0; i < rows * 64; ++i)
      x.mutable_view().as<float>()[i] = static_cast<float>(i % 17) - 8;
  }
  Result<std::vector<Tensor>> run(Session& session) const {
    const NamedInput input{"x", x.view()};
    return session.run({&input, 1});
  }
  Tensor x;
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string scheduler_name(const testing::TestParamInfo<Scheduler>& row) {
  switch (row.param) {
    case Scheduler::kSequential:
      return "Sequential";
    case Scheduler::kLayers:
      return "Layers";
    default:
      return "Dataflow";
  }
}

}  // namespace parallax
