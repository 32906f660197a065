// Rules of operators that choose boxes: non-maximum suppression, and what follows the head of a
// single-shot detector.
#include <flatbuffers/flexbuffers.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// The numbers 0 up to the rows of `x`, as one i64 each.
ValueId row_numbers(TfliteOperator& o, ValueId x) {
  const ValueId count = o.squeeze(o.dim(x, 0), {0});
  return o.op(OpKind::kRange, {o.int_number(0), count, o.int_number(1)});
}

/// The rows of `x`, then zeros up to `shape`: a result of a size that is known.
ValueId zero_padded(TfliteOperator& o, ValueId x, ValueId shape) {
  const ValueId zeros = o.op(OpKind::kExpand, {o.number(0, x), shape});
  return o.op(OpKind::kScatterND, {zeros, o.unsqueeze(row_numbers(o, x), {-1}), x});
}

/// The largest number below `x`: what is above it is at least `x`.
float before(float x) { return std::nextafter(x, -std::numeric_limits<float>::infinity()); }

/// The number of a constant of one f32; nullopt if the input is something else.
std::optional<float> known_float(TfliteOperator& o, std::size_t i) {
  const Constant* const given = o.constant(o.in(i));
  float x = 0;
  if (given == nullptr || given->dtype != DType::kF32 || given->bytes.size() != sizeof x)
    return std::nullopt;
  std::memcpy(&x, given->bytes.data(), sizeof x);
  return x;
}

/// Whether everything overlaps enough, so that one box is chosen at most.
bool suppresses_all(TfliteOperator& o, std::size_t i) {
  const auto threshold = known_float(o, i);
  return threshold && *threshold <= 0;
}

/// Boxes overlap enough from the threshold on; ONNX: above it. The difference is left where the
/// threshold is not known.
ValueId overlap(TfliteOperator& o, std::size_t i) {
  if (suppresses_all(o, i)) return o.float_number(0);
  const auto known = known_float(o, i);
  return known ? o.float_number(before(*known)) : o.need(i);
}

/// Inputs are boxes [count, 4], scores [count], the most boxes to choose, two thresholds. Returns
/// the chosen places in the order of their scores, and sets the output that counts them.
ValueId chosen_boxes(TfliteOperator& o, ValueId most, std::size_t count_output) {
  const ValueId boxes = o.unsqueeze(o.need(0), {0}), scores = o.unsqueeze(o.need(1), {0, 1});
  if (suppresses_all(o, 3)) most = o.op(OpKind::kMin, {most, o.ints({1})});
  const ValueId rows =
      o.op(OpKind::kNonMaxSuppression, {boxes, scores, most, overlap(o, 3), o.need(4)});
  const ValueId chosen = o.squeeze(o.slice(rows, 2, 3, 1), {1});
  o.result(count_output, o.cast(o.op(OpKind::kSize, {chosen}), DType::kI32));
  return chosen;
}

void nms_v4(TfliteOperator& o) {
  const ValueId most = o.reshape(o.cast_to(o.need(2), DType::kI64), {1});
  o.result(zero_padded(o, o.cast(chosen_boxes(o, most, 1), DType::kI32), most));
}

/// Has scores as output 1, which a sigma above 0 would lower.
void nms_v5(TfliteOperator& o) {
  if (known_float(o, 5) != 0.0F) return o.refuse("soft suppression is not supported");
  const ValueId most = o.reshape(o.cast_to(o.need(2), DType::kI64), {1});
  const ValueId chosen = chosen_boxes(o, most, 2);
  o.result(zero_padded(o, o.cast(chosen, DType::kI32), most));
  const ValueId scores = o.op(OpKind::kGather, {o.need(1), chosen}, with_axis(0));
  o.result(1, zero_padded(o, scores, most));
}

/// Options of TFLite_Detection_PostProcess.
struct DetectionOptions {
  std::int64_t detections = 0, classes_per_box = 0, per_class = 100, classes = 0;
  bool regular = false;
  float score = 0, iou = 0;
  std::array<float, 4> scales = {};  ///< y, x, height, width

  /// All rows of the results.
  std::int64_t rows() const { return detections * classes_per_box; }
  bool valid() const {
    constexpr std::int64_t kMost = 1 << 20;
    const auto counts = [](std::int64_t n) { return n > 0 && n <= kMost; };
    const auto divides = [](float x) { return std::isfinite(x) && x > 0; };
    return counts(detections) && counts(classes_per_box) && counts(per_class) && counts(classes) &&
           rows() <= kMost && iou > 0 && iou <= 1 && std::ranges::all_of(scales, divides);
  }
};

/// The numbers of a map; the default where a key is missing.
class FlexNumbers {
 public:
  explicit FlexNumbers(const flexbuffers::Map& map) : map_(map) {}
  std::int64_t whole(const char* key, std::int64_t otherwise = 0) const {
    const flexbuffers::Reference found = map_[key];
    return found.IsNumeric() || found.IsBool() ? found.AsInt64() : otherwise;
  }
  float real(const char* key) const {
    const flexbuffers::Reference found = map_[key];
    return found.IsNumeric() ? found.AsFloat() : 0;
  }

 private:
  const flexbuffers::Map& map_;
};

/// Reads a flexbuffer: a map whose bytes must be verified, and aligned to be read.
std::optional<DetectionOptions> detection_options(std::span<const std::byte> bytes) {
  constexpr std::size_t kLongest = 1 << 16;
  if (bytes.empty() || bytes.size() > kLongest) return std::nullopt;
  std::vector<std::uint8_t> aligned(bytes.size()), seen;
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  if (!flexbuffers::VerifyBuffer(aligned.data(), aligned.size(), &seen)) return std::nullopt;
  const flexbuffers::Reference root = flexbuffers::GetRoot(aligned.data(), aligned.size());
  if (!root.IsMap()) return std::nullopt;
  const flexbuffers::Map map = root.AsMap();
  const FlexNumbers numbers(map);
  DetectionOptions options;
  options.detections = numbers.whole("max_detections");
  options.classes_per_box = numbers.whole("max_classes_per_detection");
  options.per_class = numbers.whole("detections_per_class", options.per_class);
  options.classes = numbers.whole("num_classes");
  options.regular = numbers.whole("use_regular_nms") != 0;
  options.score = numbers.real("nms_score_threshold");
  options.iou = numbers.real("nms_iou_threshold");
  options.scales = {numbers.real("y_scale"), numbers.real("x_scale"), numbers.real("h_scale"),
                    numbers.real("w_scale")};
  if (!options.valid()) return std::nullopt;
  return options;
}

ValueId columns(TfliteOperator& o, ValueId x, std::int64_t begin, std::int64_t end) {
  return o.slice(x, begin, end, 1);
}

/// Corners [boxes, 4] of boxes whose centres and sizes are stated relative to anchors'.
ValueId decoded_boxes(TfliteOperator& o, ValueId boxes, ValueId anchors,
                      const DetectionOptions& options) {
  const auto scale = [&](std::size_t i) {
    const std::array<float, 2> pair = {options.scales[i], options.scales[i + 1]};
    return o.constant(make_constant(DType::kF32, Dims{2}, std::as_bytes(std::span(pair))));
  };
  const ValueId size = columns(o, anchors, 2, 4);
  const ValueId centre =
      o.add(o.mul(o.div(columns(o, boxes, 0, 2), scale(0)), size), columns(o, anchors, 0, 2));
  const ValueId half =
      o.mul(o.mul(o.op(OpKind::kExp, {o.div(columns(o, boxes, 2, 4), scale(2))}), 0.5), size);
  return o.concat({o.sub(centre, half), o.add(centre, half)}, 1);
}

/// Rows of (image, class, box) of the boxes that are chosen in each class. A score counts from the
/// threshold on.
ValueId suppressed(TfliteOperator& o, ValueId boxes, ValueId scores, std::int64_t most,
                   const DetectionOptions& options) {
  return o.op(OpKind::kNonMaxSuppression,
              {o.unsqueeze(boxes, {0}), o.unsqueeze(scores, {0}), o.ints({most}),
               o.float_number(options.iou), o.float_number(before(options.score))});
}

/// The result, best first: boxes [n, 4], classes and scores [n], and the number that is stated.
struct Detections {
  ValueId boxes, classes, scores, count;
};

/// Each box competes with its best score, and then stands in the result once for each class.
Detections detect_boxes(TfliteOperator& o, ValueId boxes, ValueId scores,
                        const DetectionOptions& options) {
  const auto best =
      o.ops(OpKind::kTopK, {scores, o.ints({options.classes_per_box})}, with_axis(-1), 2);
  const ValueId largest = o.transpose(columns(o, best[0], 0, 1), {1, 0});
  const ValueId rows = suppressed(o, boxes, largest, options.detections, options);
  const ValueId chosen = o.squeeze(columns(o, rows, 2, 3), {1});
  const auto taken = [&](ValueId x) { return o.op(OpKind::kGather, {x, chosen}, with_axis(0)); };
  const ValueId corners = o.unsqueeze(taken(boxes), {1});
  const ValueId repeated = o.op(OpKind::kTile, {corners, o.ints({1, options.classes_per_box, 1})});
  return {o.reshape(repeated, {-1, 4}), o.reshape(taken(best[1]), {-1}),
          o.reshape(taken(best[0]), {-1}), o.dim(chosen, 0)};
}

/// Boxes compete within each class; the best of all classes are the result.
Detections detect_by_class(TfliteOperator& o, ValueId boxes, ValueId scores,
                           const DetectionOptions& options) {
  const ValueId by_class = o.transpose(scores, {1, 0});
  const ValueId rows = suppressed(o, boxes, by_class, options.per_class, options);
  const ValueId found = o.op(OpKind::kGatherND, {by_class, columns(o, rows, 1, 3)});
  const ValueId count = o.op(OpKind::kMin, {o.dim(found, 0), o.ints({options.detections})});
  const auto best = o.ops(OpKind::kTopK, {found, count}, with_axis(0), 2);
  const ValueId chosen = o.op(OpKind::kGather, {rows, best[1]}, with_axis(0));
  const ValueId places = o.squeeze(columns(o, chosen, 2, 3), {1});
  return {o.op(OpKind::kGather, {boxes, places}, with_axis(0)),
          o.squeeze(columns(o, chosen, 1, 2), {1}), best[0], count};
}

/// Inputs are boxes [1, n, 4], scores [1, n, classes, perhaps after one of the background], anchors
/// [n, 4]; outputs boxes, classes, scores and their count.
void detection_postprocess(TfliteOperator& o) {
  const auto options = detection_options(o.custom_options());
  const ValueId scores = o.need(1);
  const std::int64_t stated = o.dimension(scores, 2);
  if (o.failed()) return;
  if (!options) return o.invalid("its options are wrong");
  const std::int64_t background = stated - options->classes;
  if (background < 0 || background > 1) return o.invalid("scores do not fit the classes");
  if (options->classes_per_box > options->classes)
    return o.refuse("more classes for a box than there are");
  const ValueId boxes = decoded_boxes(o, o.squeeze(o.need(0), {0}), o.need(2), *options);
  const ValueId kept = columns(o, o.squeeze(scores, {0}), background, stated);
  const Detections found = options->regular ? detect_by_class(o, boxes, kept, *options)
                                            : detect_boxes(o, boxes, kept, *options);
  const std::int64_t rows = options->rows();
  o.result(0, o.unsqueeze(zero_padded(o, found.boxes, o.ints({rows, 4})), {0}));
  o.result(1, o.unsqueeze(zero_padded(o, o.cast(found.classes, DType::kF32), o.ints({rows})), {0}));
  o.result(2, o.unsqueeze(zero_padded(o, found.scores, o.ints({rows})), {0}));
  o.result(3, o.cast(found.count, DType::kF32));
}

constexpr std::array kDetectionRules = {
    TfliteRule{Code::CUSTOM, detection_postprocess, "TFLite_Detection_PostProcess"},
    TfliteRule{Code::NON_MAX_SUPPRESSION_V4, nms_v4},
    TfliteRule{Code::NON_MAX_SUPPRESSION_V5, nms_v5},
};

}  // namespace

std::span<const TfliteRule> tflite_detection_rules() { return kDetectionRules; }

}  // namespace parallax
