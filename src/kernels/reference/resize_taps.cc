#include "kernels/reference/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/common.h"
#include "kernels/reference/grid_sampler.h"

namespace parallax {
namespace {

double region_element(const ResizeInputs& inputs, std::int64_t i) {
  if (inputs.region_type == DType::kF64) return load_element<double>(inputs.region, i);
  return static_cast<double>(load_element<float>(inputs.region, i));
}

/// Returns the number of axes to which regions, scales and sizes apply.
int named_axes(const ResizeShape& shape) {
  int count = 0;
  for (int axis = 0; axis < shape.in.rank(); ++axis)
    if (shape.entry[static_cast<std::size_t>(axis)] >= 0) ++count;
  return count;
}

/// Returns the scale of all named axes if keep_aspect_ratio_policy is not "stretch".
ResizeScale kept_scale(const ResizeShape& shape, const std::byte* sizes) {
  ResizeScale best;
  bool found = false;
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const int entry = shape.entry[static_cast<std::size_t>(axis)];
    if (entry < 0) continue;
    const ResizeScale own{static_cast<float>(load_element<std::int64_t>(sizes, entry)),
                          static_cast<float>(shape.in[axis])};
    const float mine = own.above * best.below, other = best.above * own.below;
    if (!found || (shape.policy == ResizePolicy::kNotLarger ? mine < other : mine > other))
      best = own;
    found = true;
  }
  return best;
}

/// Returns the filter's radius, in elements, for images that do not shrink.
double reach(const ResizeShape& shape) { return shape.mode == ResizeMode::kCubic ? 2 : 1; }

/// Returns the weight of an element at distance `x` from a position.
double filter(const ResizeShape& shape, double x) {
  x = std::abs(x);
  if (shape.mode == ResizeMode::kLinear) return std::max(1 - x, 0.0);
  if (x >= 2) return 0;
  const auto weights = cubic_weights(x < 1 ? x : x - 1, static_cast<double>(shape.cubic));
  return x < 1 ? weights[1] : weights[0];
}

/// Returns the position on the original of element `i`; nullopt if the crop region puts it outside
/// the image.
std::optional<float> position_of(const ResizeShape& shape, int axis, std::int64_t i,
                                 const ResizeSpan& span) {
  const std::int64_t in = shape.in[axis], out = shape.out[axis];
  if (shape.coordinates != ResizeCoordinates::kCrop)
    return resize_coordinate(shape.coordinates, i, in, out, span.scale);
  const auto last = static_cast<double>(in - 1);
  const double x = out > 1 ? span.start * last + static_cast<double>(i) * (span.end - span.start) *
                                                     last / static_cast<double>(out - 1)
                           : 0.5 * (span.start + span.end) * last;
  if (!(x >= 0 && x <= last)) return std::nullopt;
  return static_cast<float>(x);
}

/// Divides the weights by their sum; if that is 0, the first tap gets weight 1.
void scale_to_one(std::span<ResizeTap> taps) {
  double sum = 0;
  for (const ResizeTap& tap : taps) sum += tap.weight;
  if (sum == 0 && !taps.empty()) taps[0].weight = sum = 1;
  for (ResizeTap& tap : taps) tap.weight /= sum;
}

/// Writes the taps around `x` of a filter that is 1 / `shrink` times as wide.
void write_filter(const ResizeShape& shape, std::int64_t in, double x, double shrink,
                  std::span<ResizeTap> taps) {
  const double below = std::floor(x), fraction = x - below;
  const auto half = static_cast<std::int64_t>(taps.size()) / 2;
  for (std::size_t k = 0; k < taps.size(); ++k) {
    const std::int64_t from = static_cast<std::int64_t>(k) - half + 1;  // relative to `below`
    const std::int64_t index = static_cast<std::int64_t>(below) + from;
    const bool outside = index < 0 || index >= in;
    taps[k].index = std::clamp<std::int64_t>(index, 0, in - 1);
    taps[k].weight = outside && shape.exclude_outside
                         ? 0
                         : filter(shape, (static_cast<double>(from) - fraction) * shrink);
  }
  if (shrink < 1 || shape.exclude_outside) scale_to_one(taps);
}

}  // namespace

Result<ResizeSpan> resize_span(const ResizeShape& shape, int axis, const ResizeInputs& inputs) {
  const int entry = shape.entry[static_cast<std::size_t>(axis)];
  ResizeSpan span;
  span.scale = resize_scale(shape, axis, inputs.scales, inputs.scales != nullptr);
  if (entry >= 0 && shape.policy != ResizePolicy::kStretch && inputs.sizes != nullptr)
    span.scale = kept_scale(shape, inputs.sizes);
  if (!(span.scale.above > 0.0F && span.scale.below > 0.0F))
    return run_error(ErrorCode::kInvalidInput, "a scale is not positive");
  if (entry >= 0 && shape.coordinates == ResizeCoordinates::kCrop && inputs.region != nullptr) {
    span.start = region_element(inputs, entry);
    span.end = region_element(inputs, named_axes(shape) + entry);
  }
  return span;
}

std::int64_t resize_tap_count(const ResizeShape& shape, int axis) {
  if (shape.mode == ResizeMode::kNearest || shape.in[axis] == 0) return 1;
  const auto around = 2 * static_cast<std::int64_t>(reach(shape));
  const bool grows = shape.policy == ResizePolicy::kStretch ? shape.out[axis] >= shape.in[axis]
                                                            : shape.out[axis] > shape.in[axis];
  if (!shape.antialias || grows || shape.out[axis] == 0) return around;
  // Sizes are rounded, so a given scale may be smaller than their ratio by half an element's worth.
  return around * (2 * (shape.in[axis] / shape.out[axis]) + 2);
}

Result<bool> resize_taps(const ResizeShape& shape, int axis, std::int64_t i, const ResizeSpan& span,
                         std::span<ResizeTap> taps) {
  const std::int64_t in = shape.in[axis];
  std::ranges::fill(taps, ResizeTap{});
  const bool whole = span.scale.above == span.scale.below && in == shape.out[axis];
  if (whole && span.start == 0 && span.end == 1) {
    taps[0] = {i, 1};
    return true;
  }
  const auto position = position_of(shape, axis, i, span);
  if (!position) return false;
  if (shape.mode == ResizeMode::kNearest) {
    const float x = resize_rounded(shape.rounding, *position);
    const auto last = static_cast<float>(in - 1);
    taps[0] = {x >= last ? in - 1 : x > 0.0F ? static_cast<std::int64_t>(x) : 0, 1};
    return true;
  }
  double shrink = 1;
  if (shape.antialias)
    shrink = std::min(static_cast<double>(span.scale.above) / static_cast<double>(span.scale.below),
                      1.0);
  const double side = std::ceil(reach(shape) / shrink);
  if (!(2 * side <= static_cast<double>(taps.size())))
    return run_error(ErrorCode::kInvalidInput, "a scale is too small");
  // Beyond the filter's reach the edge has all the weight.
  double x = static_cast<double>(*position);
  x = x > -side ? std::min(x, static_cast<double>(in) + side) : x == x ? -side : 0;
  write_filter(shape, in, x, shrink, taps.first(2 * static_cast<std::size_t>(side)));
  return true;
}

}  // namespace parallax
