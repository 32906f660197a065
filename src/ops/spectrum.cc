// DFT, STFT and MelWeightMatrix.
#include "ops/spectrum.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "ops/common.h"
#include "ops/params/spectrum.h"

namespace parallax {

namespace {

/// The one element of input i if it is known; `fallback` if the input is left out.
Result<std::optional<Expr>> one_number(const InferContext& context, std::size_t i,
                                       std::optional<Expr> fallback) {
  if (!context.has(i)) return fallback;
  PX_RETURN_IF_ERROR(expect_dtype(context, i, kIndexTypes));
  PX_RETURN_IF_ERROR(expect_one_element(context, i));
  const auto elements = context.exprs(i);
  if (!elements) return std::optional<Expr>();
  if (elements->size() != 1) return fail(context, fmt::format("input {} must be one number", i));
  return std::optional<Expr>(elements->front());
}

/// Refuses a number that is certainly less than `least`.
Status expect_at_least(const InferContext& context, const std::optional<Expr>& number,
                       std::int64_t least, std::string_view what) {
  if (!number) return {};
  const auto known = number->constant();
  if ((known && *known < least) || is_negative(*number)) {
    return fail(context, fmt::format("{} must be at least {}", what, least));
  }
  return {};
}

/// Returns how many numbers an element of the signal has: 1 if it is real, 2 if it is complex;
/// nullopt if that is known only during a run.
Result<std::optional<std::int64_t>> parts_of(const InferContext& context) {
  const auto parts = context.inputs[0].shape.back().constant();
  if (parts && *parts != 1 && *parts != 2) {
    return fail(context, "the last axis must have 1 or 2 elements");
  }
  return parts;
}

Result<DftParams> dft_flags(const InferContext& context) {
  PX_ASSIGN(const auto flags, read_params<DftParams>(context));
  PX_ASSIGN(const auto parts, parts_of(context));
  if (flags.onesided && parts && *parts != (flags.inverse ? 2 : 1)) {
    return fail(context,
                flags.inverse ? "one side must be complex" : "one side needs a real input");
  }
  return flags;
}

/// [.., n, .., 1 or 2] gives [.., length, .., 2]; of one side length / 2 + 1, back from one side
/// [.., length, .., 1].
InferResult infer_dft(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  Shape shape = context.inputs[0].shape;
  if (shape.size() < 2) return fail(context, "input 0 must have rank 2 or more");
  PX_ASSIGN(const DftParams flags, dft_flags(context));
  const DType dtype = context.inputs[0].dtype;
  PX_ASSIGN(const auto axis_number, one_number(context, kDftAxis, Expr(-2)));
  const int rank = static_cast<int>(shape.size());
  shape.back() = flags.to_real() ? 1 : 2;
  if (!axis_number || !axis_number->constant()) {
    // Any axis may become another: only running tells.
    PX_RETURN_IF_ERROR(one_number(context, kDftLength, Expr(1)));
    Shape any = fresh_shape(context, shape.size());
    any.back() = shape.back();
    return one_output(dtype, std::move(any));
  }
  const std::int64_t stated = axis_number->constant().value_or(0);
  const auto axis = normalize_axis(stated, rank);
  if (!axis || *axis == rank - 1) {
    return fail(context, fmt::format("the signal has no axis {}", stated));
  }
  Expr& dim = shape[static_cast<std::size_t>(*axis)];
  const Expr all = flags.to_real() ? Expr(2) * (dim - Expr(1)) : dim;
  PX_ASSIGN(auto length, one_number(context, kDftLength, all));
  PX_RETURN_IF_ERROR(expect_at_least(context, length, 1, "the length"));
  if (!length) {
    dim = context.fresh_symbol("length");
  } else if (flags.onesided && !flags.inverse) {
    dim = floor_div(*length, Expr(2)) + Expr(1);
  } else {
    dim = *length;
  }
  return one_output(dtype, std::move(shape));
}

/// A step of a fast transform for each element and each halving of the longest axis.
std::int64_t macs_transform(const Node&, std::span<const Dims>, std::span<const Dims> outputs) {
  if (outputs.empty()) return 0;
  std::int64_t longest = 1;
  for (const std::int64_t dim : outputs[0]) longest = std::max(longest, dim);
  return saturating_mul(saturating_elements(outputs[0]),
                        std::bit_width(static_cast<std::uint64_t>(longest)));
}

/// The length of a frame: as stated, else of the window, else of the signal.
Result<std::optional<Expr>> frame_length(const InferContext& context) {
  const bool windowed = context.has(kStftWindow);
  if (windowed) {
    PX_RETURN_IF_ERROR(expect_same_dtype(context, kStftWindow));
    PX_RETURN_IF_ERROR(expect_rank(context, kStftWindow, 1));
  }
  const Expr fallback =
      windowed ? context.inputs[kStftWindow].shape[0] : context.inputs[0].shape[1];
  PX_ASSIGN(const auto length, one_number(context, kStftLength, fallback));
  PX_RETURN_IF_ERROR(expect_at_least(context, length, 1, "a frame"));
  if (windowed && length && !unify(*length, fallback)) {
    return fail(context, "the window is not as long as a frame");
  }
  return length;
}

/// [batch, n, 1 or 2] gives [batch, frames, bins, 2].
InferResult infer_stft(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 3));
  PX_ASSIGN(const auto params, read_params<StftParams>(context));
  const bool onesided = params.onesided;
  PX_ASSIGN(const auto parts, parts_of(context));
  if (onesided && parts == 2) return fail(context, "one side needs a real signal");
  PX_ASSIGN(const auto step, one_number(context, kStftStep, std::nullopt));
  PX_RETURN_IF_ERROR(expect_at_least(context, step, 1, "a step"));
  PX_ASSIGN(const auto length, frame_length(context));
  const Shape& signal = context.inputs[0].shape;
  Shape shape = {signal[0], {}, {}, 2};
  if (length) {
    PX_RETURN_IF_ERROR(
        expect_at_least(context, signal[1] - *length, 0, "the signal beyond a frame"));
  }
  shape[1] = length && step ? floor_div(signal[1] - *length, *step) + Expr(1)
                            : context.fresh_symbol("frames");
  shape[2] = !length    ? context.fresh_symbol("bins")
             : onesided ? floor_div(*length, Expr(2)) + Expr(1)
                        : *length;
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// Numbers of bands, of a transform, of samples in a second and two edges in hertz give [length / 2
/// + 1, bands].
InferResult infer_mel(const InferContext& context) {
  PX_ASSIGN(const auto bands, one_number(context, 0, std::nullopt));
  PX_ASSIGN(const auto length, one_number(context, 1, std::nullopt));
  PX_RETURN_IF_ERROR(one_number(context, 2, std::nullopt));
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    PX_RETURN_IF_ERROR(expect_one_element(context, i));
  }
  PX_RETURN_IF_ERROR(expect_at_least(context, bands, 0, "the number of bands"));
  PX_RETURN_IF_ERROR(expect_at_least(context, length, 0, "the length"));
  const auto dtype = dtype_from_onnx(params_of<MelParams>(context.node).output_datatype);
  if (!dtype || !contains(kNumericTypes, *dtype)) {
    return fail(context, "output_datatype is not a type of numbers");
  }
  Shape shape = {length ? floor_div(*length, Expr(2)) + Expr(1) : context.fresh_symbol("bins"),
                 bands ? *bands : context.fresh_symbol("bands")};
  return one_output(*dtype, std::move(shape));
}

}  // namespace

const OpDef& op_def_DFT() {
  static const OpDef def = [] {
    OpDef d(OpKind::kDFT, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 17;
    d.max_inputs = 3;
    d.attributes = attributes_of<DftParams>();
    d.infer = infer_dft;
    d.macs = macs_transform;
    d.shape_inputs = 1U << kDftLength | 1U << kDftAxis;
    return d;
  }();
  return def;
}

const OpDef& op_def_STFT() {
  static const OpDef def = [] {
    OpDef d(OpKind::kSTFT, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 17;
    d.min_inputs = 2;
    d.max_inputs = 4;
    d.attributes = attributes_of<StftParams>();
    d.infer = infer_stft;
    d.macs = macs_transform;
    d.shape_inputs = 1U << kStftStep | 1U << kStftLength;
    return d;
  }();
  return def;
}

const OpDef& op_def_MelWeightMatrix() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMelWeightMatrix,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kSizedByRunning));
    d.since = 17;
    d.min_inputs = 5;
    d.max_inputs = 5;
    d.attributes = attributes_of<MelParams>();
    d.infer = infer_mel;
    d.macs = macs_per_output;
    d.shape_inputs = 0b11;
    return d;
  }();
  return def;
}

}  // namespace parallax
