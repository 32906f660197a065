// For tests and benches of convolutions: a Conv node of random numbers in NHWC, and its greatest
// error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

struct ConvolutionCase {
  const char* name = "";
  Dims x;  ///< NHWC, or NWC
  std::int64_t filters = 0;
  std::vector<std::int64_t> kernel, pads;
  std::vector<std::int64_t> strides = {}, dilations = {};
  std::int64_t group = 1;
};

inline void PrintTo(const ConvolutionCase& row, std::ostream* out) { *out << row.name; }

inline KernelRun convolution_run(const ConvolutionCase& row, bool bias,
                                 const std::string& activation) {
  KernelRun run;
  run.op = OpKind::kConv;
  Dims w = {row.filters, row.x[row.x.rank() - 1] / row.group};
  for (const std::int64_t taps : row.kernel) w.push_back(taps);
  run.inputs = test_inputs(random_floats(row.x, 1, -1, 1), random_floats(w, 2, -1, 1));
  if (bias) run.inputs.emplace_back(random_floats({row.filters}, 3, -1, 1));
  run.constants = 0b110;
  run.attributes = test_attributes({{"layout", std::string("NHWC")}, {"pads", row.pads}});
  if (row.group != 1) run.attributes.set("group", row.group);
  if (!row.strides.empty()) run.attributes.set("strides", row.strides);
  if (!row.dilations.empty()) run.attributes.set("dilations", row.dilations);
  run.epilogue = then(activation);
  return run;
}

/// Largest error_against_reference() that is accepted: sums of products of numbers below 1 in f32,
/// computed in different orders.
inline constexpr double kConvolutionError = 5e-6;
/// The same with Clip to [-1, 2], as sums before it are up to 60.
inline constexpr double kClippedError = 1e-4;
inline double allowed_error(std::string_view activation, double error = kConvolutionError) {
  return activation == "Clip" ? kClippedError : error;
}

/// Returns the largest difference to the reference kernel, divided by the reference's largest
/// element; infinity if a kernel fails.
inline double error_against_reference(const KernelRun& run, const KernelMaker& make) {
  const auto want = run_kernel_tiles(run, KernelLibrary::kReference);
  const auto got = run_kernel_tiles(run, make);
  if (!want || !got) {
    ADD_FAILURE() << (want ? got : want).error().to_string();
    return std::numeric_limits<double>::infinity();
  }
  const auto x = test_values<float>(got->outputs[0]), y = test_values<float>(want->outputs[0]);
  double worst = 0, scale = 1e-30;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
    scale = std::max(scale, std::abs(static_cast<double>(y[i])));
  }
  return worst / scale;
}

/// Ranges of the random convolutions below, both ends included: the number of groups, and channels
/// and filters of each group.
struct GroupRanges {
  std::pair<std::int64_t, std::int64_t> groups, channels, filters;
};

inline ConvolutionCase random_groups(std::mt19937& random, const GroupRanges& ranges) {
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  ConvolutionCase row;
  row.group = pick(ranges.groups.first, ranges.groups.second);
  row.kernel = {pick(1, 4), pick(1, 4)};
  row.dilations = {pick(1, 2), pick(1, 2)};
  row.strides = {pick(1, 3), pick(1, 3)};
  for (std::size_t p = 0; p < 4; ++p)
    row.pads.push_back(
        std::min<std::int64_t>(pick(0, 4), (row.kernel[p % 2] - 1) * row.dilations[p % 2]));
  row.x = {pick(1, 2), pick(8, 16), pick(8, 30),
           row.group * pick(ranges.channels.first, ranges.channels.second)};
  row.filters = row.group * pick(ranges.filters.first, ranges.filters.second);
  return row;
}

}  // namespace parallax
