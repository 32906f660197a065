// A small model with branches, and names of schedulers, for tests of sessions.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "parallax/options.h"

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
