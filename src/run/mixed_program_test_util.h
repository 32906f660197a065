// A program for tests of runs that end early: its branches fail, loop and scan concurrently.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "run/run_test_util.h"

namespace parallax {

/// The outputs of these bodies have no memory before the trip that makes them: `w` has a length
/// that only a run determines (8, because v has no zeros).
inline constexpr std::string_view kMixedStep = R"(
        const zero i64 [1] = [0]
        const long i64 [] = [4]
        found = NonZero(v)
        flat = Squeeze(found, zero)
        u = Gather(v, flat)
        t = Neg(u)
        w = Neg(t)
)";

/// Returns a program of four branches: the one with the most work ahead, which ends in a Gather
/// that fails if i is out of range; a Loop in a Loop; a Scan; a Loop in an If.
inline std::string mixed_program() {
  const std::string loop = fmt::format(R"(
        input k i64 []
        input go bool []
        input v f32 [8]
        {}
        output go, w
      end
)",
                                       kMixedStep);
  return fmt::format(R"(
      input x f32 [8]
      input xs f32 [2000, 8]
      input z f32 [256, 256]
      input big i64 []
      input i i64 [1]
      input c bool []
      z1 = Tanh(z)
      z2 = Tanh(z1)
      z3 = Tanh(z2)
      picked = Gather(z3, i) @pick
      b = Loop(big, _, x) @long
      body
        input k i64 []
        input go bool []
        input v f32 [8]
        const m i64 [] = [3]
        w = Loop(m, _, v) @inner
        body
{0}
        output go, w
      end
      d, e = Scan(x, xs) {{num_scan_inputs = 1}} @scan
      body
        input s f32 [8]
        input v f32 [8]
{1}
        output w, u
      end
      g = If(c; x, big) @if
      body
        input x f32 [8]
        input big i64 []
        y = Loop(big, _, x) @deep
        body
{0}
        output y
      end
      body
        input x f32 [8]
        input big i64 []
        y = Neg(x)
        output y
      end
      all = Concat(b, d, g) {{axis = 0}}
      output all, e, picked)",
                     loop, kMixedStep);
}

inline constexpr int kScans = 2000;

inline Inputs mixed_inputs(std::int64_t index, std::int64_t big) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> xs;
  for (int i = 0; i < kScans; ++i) xs.insert(xs.end(), x.begin(), x.end());
  return {bytes_of(x),
          bytes_of(xs),
          bytes_of(std::vector<float>(256 * 256, 0.F)),
          bytes_of<std::int64_t>({big}),
          bytes_of<std::int64_t>({index}),
          kYes};
}

}  // namespace parallax
