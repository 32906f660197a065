// NonMaxSuppression: each candidate is tested against all boxes kept before it, a vector of them at
// a time.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/box_loops.h"
#include "ops/params/indexing.h"

namespace parallax {
namespace {

/// More scores than these are left to the reference: sizes of scratch stay far from 63 bits, and a
/// box has an index of 32 bits.
constexpr std::int64_t kMaxScores = std::int64_t{1} << 32;

struct NmsShape {
  std::int64_t batches = 0, classes = 0, boxes = 0;
  std::int64_t capacity = 0;  ///< most boxes that can be kept per batch and class
  bool center = false;        ///< boxes are (x, y, width, height), not two corners
  bool has_limit = false, has_iou = false, has_score = false;

  std::int64_t lists() const { return batches * classes; }
};

struct NmsLimits {
  std::int64_t per_class = 0;
  float iou = 0;
  float score = 0;
};

BoxCorners corners_of(const float* box, bool center) {
  if (center) {
    const float half_width = box[2] / 2.0F, half_height = box[3] / 2.0F;
    return {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

/// Sorts as descending scores, and lower indices first among equal ones. The score is not NaN.
std::uint64_t sort_key(float score, std::int64_t index) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // one zero only
  const std::uint32_t descending = (bits >> 31) != 0 ? bits : ~bits & 0x7FFFFFFFU;
  return std::uint64_t{descending} << 32 | static_cast<std::uint64_t>(index);
}

/// Parts of the scratch.
struct NmsScratch {
  std::uint64_t* keys;   ///< [boxes]
  std::int64_t* counts;  ///< [lists]: boxes kept
  std::uint32_t* kept;   ///< [lists, capacity]: which
  float* list;           ///< for a BoxList of `capacity`

  static std::int64_t bytes(const NmsShape& s) {
    const auto list = static_cast<std::int64_t>(BoxList::floats(to_size(s.capacity)));
    return 8 * (s.boxes + s.lists()) + 4 * (s.lists() * s.capacity + list);
  }
  NmsScratch(const NmsShape& s, std::span<std::byte> scratch)
      : keys(reinterpret_cast<std::uint64_t*>(scratch.data())),
        counts(reinterpret_cast<std::int64_t*>(keys + s.boxes)),
        kept(reinterpret_cast<std::uint32_t*>(counts + s.lists())),
        list(reinterpret_cast<float*>(kept + s.lists() * s.capacity)) {}
};

/// Keeps boxes of one class; says how many.
std::int64_t suppress(const NmsShape& s, const NmsLimits& limits, const float* boxes,
                      const float* scores, const NmsScratch& scratch, std::uint32_t* kept) {
  std::uint64_t* end = scratch.keys;
  for (std::int64_t i = 0; i < s.boxes; ++i) {
    const bool wanted = s.has_score ? scores[i] > limits.score : scores[i] == scores[i];
    if (wanted) *end++ = sort_key(scores[i], i);
  }
  std::sort(scratch.keys, end);
  BoxList list(scratch.list, to_size(s.capacity));
  std::int64_t count = 0;
  for (const std::uint64_t* key = scratch.keys; key != end && count < limits.per_class; ++key) {
    const auto index = static_cast<std::uint32_t>(*key);
    const BoxCorners box = corners_of(boxes + std::size_t{index} * 4, s.center);
    // A box without area overlaps nothing.
    if (box.area() > 0.0F) {
      if (list.overlaps(box, limits.iou)) continue;
      list.append(box);
    }
    kept[count++] = index;
  }
  return count;
}

Status write_rows(const NmsShape& s, const NmsScratch& scratch, DynamicOutputs& outputs) {
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < s.lists(); ++c) total += scratch.counts[c];
  PX_ASSIGN(std::byte * bytes, outputs.allocate(0, {total, 3}));
  auto* row = reinterpret_cast<std::int64_t*>(bytes);
  for (std::int64_t c = 0; c < s.lists(); ++c) {
    for (std::int64_t k = 0; k < scratch.counts[c]; ++k, row += 3) {
      row[0] = c / s.classes;
      row[1] = c % s.classes;
      row[2] = scratch.kept[c * s.capacity + k];
    }
  }
  return {};
}

/// Returns the only element of an input, at any alignment; `fallback` if it is left out.
template <class T>
T scalar_or(const KernelArgs& args, std::size_t i, bool present, T fallback) {
  if (present) std::memcpy(&fallback, args.inputs[i], sizeof(T));
  return fallback;
}

Status run(const NmsShape& s, const KernelArgs& args) {
  NmsLimits limits;
  limits.per_class =
      std::clamp<std::int64_t>(scalar_or<std::int64_t>(args, 2, s.has_limit, 0), 0, s.capacity);
  limits.iou = scalar_or(args, 3, s.has_iou, 0.0F);
  limits.score = scalar_or(args, 4, s.has_score, 0.0F);
  if (!(limits.iou >= 0.0F && limits.iou <= 1.0F))
    return tl::unexpected(Error{Stage::kRun,
                                ErrorCode::kInvalidInput,
                                {},
                                fmt::format("iou_threshold {} is not in [0, 1]", limits.iou)});
  const NmsScratch scratch(s, args.scratch);
  for (std::int64_t c = 0; c < s.lists(); ++c) {
    scratch.counts[c] = 0;
    if (limits.per_class == 0) continue;
    scratch.counts[c] =
        suppress(s, limits, args.in<float>(0) + c / s.classes * s.boxes * 4,
                 args.in<float>(1) + c * s.boxes, scratch, scratch.kept + c * s.capacity);
  }
  return write_rows(s, scratch, *args.dynamic);
}

}  // namespace

/// Creates the kernel of NonMaxSuppression of at most 2^32 scores; results are those of the
/// reference.
Result<std::unique_ptr<Kernel>> cpu_non_max_suppression(const KernelRequest& request) {
  const Dims& scores = request.inputs[1].dims;
  const auto lists = checked_mul(scores[0], scores[1]);
  if (request.inputs[0].dims != Dims{scores[0], scores[2], 4} || !lists || *lists > kMaxScores ||
      scores[2] > kMaxScores || scores.elements() > kMaxScores)
    return not_covered();
  NmsShape shape{scores[0], scores[1], scores[2]};
  shape.center = params_of<NonMaxSuppressionParams>(request.node).center_point_box;
  shape.has_limit = request.has(2);
  shape.has_iou = request.has(3);
  shape.has_score = request.has(4);
  // A limit known now bounds the scratch; otherwise every box may be kept.
  shape.capacity = shape.has_limit ? shape.boxes : 0;
  if (shape.has_limit && request.inputs[2].data != nullptr)
    shape.capacity =
        std::clamp<std::int64_t>(first_element<std::int64_t>(request.inputs[2]), 0, shape.capacity);
  LambdaKernelOptions options;
  options.scratch_bytes = NmsScratch::bytes(shape);
  options.byte_inputs = 0b11100;
  options.dynamic_outputs = true;
  return tiled_kernel(options,
                      [shape](std::int64_t, const KernelArgs& args) { return run(shape, args); });
}

}  // namespace parallax
