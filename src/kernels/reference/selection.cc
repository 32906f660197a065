// NonZero and NonMaxSuppression, whose result sizes depend on values.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "ops/params/indexing.h"

namespace parallax {
namespace {

/// Sizes and thresholds of a NonMaxSuppression.
struct Suppression {
  std::int64_t batches = 0, classes = 0, boxes = 0;
  bool center = false;         ///< boxes are (x, y, width, height), not two corners
  std::int64_t per_class = 0;  ///< most boxes to keep per batch and class
  float iou_threshold = 0;
  bool has_score_threshold = false;
  float score_threshold = 0;
};

struct Box {
  float x0, y0, x1, y1;
  float area() const { return (x1 - x0) * (y1 - y0); }
};

Box box_at(const float* box, bool center) {
  if (center) {
    const float half_width = box[2] / 2.0F, half_height = box[3] / 2.0F;
    return {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

/// Returns whether the boxes' intersection exceeds `threshold` times their union.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0.0F) || !(height > 0.0F) || !(a.area() > 0.0F) || !(b.area() > 0.0F)) return false;
  const float both = width * height;
  return both / (a.area() + b.area() - both) > threshold;
}

/// Writes the candidates of one class to `order` by descending score, lower index first among
/// equals, and returns their number. A box with a NaN score is no candidate.
std::int64_t sorted_candidates(const Suppression& s, const float* scores, std::int64_t* order) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < s.boxes; ++i) {
    const bool wanted =
        s.has_score_threshold ? scores[i] > s.score_threshold : scores[i] == scores[i];
    if (wanted) order[count++] = i;
  }
  std::sort(order, order + count, [scores](std::int64_t a, std::int64_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  return count;
}

/// Writes the indices of the boxes to keep to `kept`, s.per_class at most, and returns their
/// number.
std::int64_t suppress(const Suppression& s, const float* boxes, const float* scores,
                      std::int64_t* order, std::int64_t* kept) {
  const std::int64_t candidates = sorted_candidates(s, scores, order);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < candidates && count < s.per_class; ++i) {
    const Box box = box_at(boxes + order[i] * 4, s.center);
    bool free = true;
    for (std::int64_t k = 0; k < count && free; ++k) {
      free = !overlaps(box, box_at(boxes + kept[k] * 4, s.center), s.iou_threshold);
    }
    if (free) kept[count++] = order[i];
  }
  return count;
}

template <class T>
T scalar_or(const KernelArgs& args, std::size_t i, bool present, T fallback) {
  return present ? load_element<T>(args.inputs[i], 0) : fallback;
}

/// Scratch: candidates, how many were kept of each class, and which.
struct NmsScratch {
  std::int64_t *order, *counts, *kept;
};
NmsScratch nms_scratch(const Suppression& s, std::span<std::byte> scratch) {
  auto* memory = reinterpret_cast<std::int64_t*>(scratch.data());
  return {memory, memory + s.boxes, memory + s.boxes + s.batches * s.classes};
}

Status write_rows(const Suppression& s, const NmsScratch& scratch, std::int64_t capacity,
                  DynamicOutputs& outputs) {
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < s.batches * s.classes; ++c) total += scratch.counts[c];
  PX_ASSIGN(std::byte * bytes, outputs.allocate(0, {total, 3}));
  auto* row = reinterpret_cast<std::int64_t*>(bytes);
  for (std::int64_t c = 0; c < s.batches * s.classes; ++c) {
    for (std::int64_t k = 0; k < scratch.counts[c]; ++k, row += 3) {
      row[0] = c / s.classes;
      row[1] = c % s.classes;
      row[2] = scratch.kept[c * capacity + k];
    }
  }
  return {};
}

}  // namespace

KernelResult reference_non_max_suppression(const KernelRequest& request) {
  const Dims& scores = request.inputs[1].dims;
  if (request.inputs[0].dims != Dims{scores[0], scores[2], 4}) {
    return make_error(ErrorCode::kInvalidInput, "boxes and scores do not match");
  }
  Suppression fixed;
  fixed.batches = scores[0];
  fixed.classes = scores[1];
  fixed.boxes = scores[2];
  fixed.center = params_of<NonMaxSuppressionParams>(request.node).center_point_box;
  const std::array<bool, 5> has = {true, true, request.has(2), request.has(3), request.has(4)};
  fixed.has_score_threshold = has[4];
  // A limit known now bounds the scratch; otherwise every box may be kept.
  std::int64_t capacity = has[2] ? fixed.boxes : 0;
  if (has[2] && request.inputs[2].data != nullptr) {
    capacity = std::clamp<std::int64_t>(load_element<std::int64_t>(request.inputs[2].data, 0), 0,
                                        capacity);
  }
  const std::int64_t lists = fixed.batches * fixed.classes;
  const LambdaKernelOptions options{.scratch_bytes = 8 * (fixed.boxes + lists + lists * capacity),
                                    .byte_inputs = 0b11100,
                                    .dynamic_outputs = true};
  return make_lambda_kernel(options, [=](std::int64_t, const KernelArgs& args) -> Status {
    Suppression s = fixed;
    s.per_class =
        std::clamp<std::int64_t>(scalar_or<std::int64_t>(args, 2, has[2], 0), 0, capacity);
    s.iou_threshold = scalar_or(args, 3, has[3], 0.0F);
    s.score_threshold = scalar_or(args, 4, has[4], 0.0F);
    if (!(s.iou_threshold >= 0.0F && s.iou_threshold <= 1.0F)) {
      return run_error(ErrorCode::kInvalidInput,
                       fmt::format("iou_threshold {} is not in [0, 1]", s.iou_threshold));
    }
    const NmsScratch scratch = nms_scratch(s, args.scratch);
    for (std::int64_t c = 0; c < lists; ++c) {
      scratch.counts[c] = s.per_class == 0 || s.boxes == 0
                              ? 0
                              : suppress(s, args.in<float>(0) + c / s.classes * s.boxes * 4,
                                         args.in<float>(1) + c * s.boxes, scratch.order,
                                         scratch.kept + c * capacity);
    }
    return write_rows(s, scratch, capacity, *args.dynamic);
  });
}

/// Row i of the result holds the index along axis i of each element that is not zero.
KernelResult reference_non_zero(const KernelRequest& request) {
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const Dims dims = request.inputs[0].dims;
    const std::int64_t elements = dims.elements();
    return make_lambda_kernel(
        {.dynamic_outputs = true}, [=](std::int64_t, const KernelArgs& args) -> Status {
          const T* x = args.in<T>(0);
          std::int64_t count = 0;
          for (std::int64_t i = 0; i < elements; ++i) count += x[i] != T{0} ? 1 : 0;
          PX_ASSIGN(std::byte * bytes, args.dynamic->allocate(0, {dims.rank(), count}));
          auto* y = reinterpret_cast<std::int64_t*>(bytes);
          std::int64_t found = 0;
          for (std::int64_t i = 0; i < elements; ++i) {
            if (!(x[i] != T{0})) continue;
            std::int64_t rest = i;
            for (int axis = dims.rank() - 1; axis >= 0; --axis) {
              y[axis * count + found] = rest % dims[axis];
              rest /= dims[axis];
            }
            ++found;
          }
          return {};
        });
  });
}

}  // namespace parallax
