// For tests of this folder: restricts Highway to one of the instruction sets that this machine has.
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/cpu/targets.h"

// Highway must follow the choice of targets.
#include <hwy/highway.h>

namespace parallax {

/// Restricts Highway to `targets` until it is destroyed.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) { choose(targets); }
  ~OnlyTargets() { choose(0); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;

 private:
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Calls run(target) with each instruction set alone that kernels are compiled for and this machine
/// has, and expects one at least.
template <class Run>
void for_each_target(const Run& run) {
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  int tried = 0;
  for (std::int64_t target = 1; target > 0 && target <= HWY_SCALAR; target <<= 1) {
    if ((supported & target) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTargets only(target);
    ++tried;
    run(target);
  }
  EXPECT_GE(tried, 1);
}

}  // namespace parallax
