// Conv of f32 with constant weights: which convolutions each kernel of this folder covers. The
// catalogue has a row for each, in the order in which they are tried.
#include <utility>

#include "base/status.h"
#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/column_convolution.h"
#include "kernels/cpu/convolution/depthwise_convolution.h"
#include "kernels/cpu/convolution/dot_convolution.h"
#include "kernels/cpu/convolution/grouped_convolution.h"
#include "kernels/cpu/convolution/planar_convolution.h"
#include "kernels/cpu/convolution/small_groups.h"
#include "kernels/cpu/convolution/winograd.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Whether a kernel adds an input to the sums (kConvResidual).
enum class Residual : std::uint8_t { kNone, kAdded };

/// Returns the shape of a convolution with one, two or three spatial axes; nullopt for others, and
/// for residuals that the kernel does not add.
std::optional<ConvolutionShape> any_shape(const KernelRequest& request,
                                          Residual residual = Residual::kNone) {
  if (request.has(kConvResidual) && residual == Residual::kNone) return std::nullopt;
  const auto shape = volume_convolution_shape(request);
  if (!shape) return std::nullopt;
  const Dims& w = request.inputs[1].dims;
  if (w[0] != shape->out_channels || w[1] * shape->groups != shape->in_channels ||
      shape->out_channels % shape->groups != 0)
    return std::nullopt;
  return shape;
}

/// Makes a row of an image of one column: kernels compute neighbours of a row together. A signal
/// 335x1x80, 10 of them, depthwise 31x1: 0.6 instead of 3.2 ms.
void lay_down(ConvolutionShape& s) {
  if (s.in[1] != 1 || s.out[1] != 1 || s.kernel[1] != 1 || s.in[0] == 1) return;
  for (auto* sizes : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation, &s.pad_begin})
    std::swap((*sizes)[0], (*sizes)[1]);
}

/// Returns the shape of a convolution with one or two spatial axes.
std::optional<ConvolutionShape> whole_shape(const KernelRequest& request,
                                            Residual residual = Residual::kNone) {
  auto shape = any_shape(request, residual);
  if (!shape || request.inputs[0].dims.rank() > 4) return std::nullopt;
  lay_down(*shape);
  return shape;
}

/// Returns the shape of a convolution in NHWC with one group.
std::optional<ConvolutionShape> dense_shape(const KernelRequest& request,
                                            Residual residual = Residual::kNone) {
  const auto shape = whole_shape(request, residual);
  return shape && shape->nhwc && shape->groups == 1 ? shape : std::nullopt;
}

Result<std::unique_ptr<Kernel>> winograd(const KernelRequest& request, WinogradForm form) {
  const auto shape = dense_shape(request);
  if (!shape || winograd_form(*shape) != form) return not_covered();
  // Along one axis at most half of the multiplications are saved, as bf16 does.
  if (request.precision == Precision::kBf16 && shape->kernel[0] == 1) return not_covered();
  return make_winograd(request, *shape, form);
}

Result<std::unique_ptr<Kernel>> columns(const KernelRequest& request, Precision precision) {
  const auto shape = dense_shape(request, Residual::kAdded);
  return shape && request.precision == precision ? make_columns(request, *shape) : not_covered();
}

}  // namespace

Result<std::unique_ptr<Kernel>> plane_convolution(const KernelRequest& request) {
  const auto shape = whole_shape(request);
  return shape && !shape->nhwc ? make_plane_convolution(request, *shape) : not_covered();
}

Result<std::unique_ptr<Kernel>> depthwise_turned_convolution(const KernelRequest& request) {
  const auto shape = whole_shape(request);
  return shape && !shape->nhwc ? make_transposed_depthwise(request, *shape) : not_covered();
}

Result<std::unique_ptr<Kernel>> planar_convolution(const KernelRequest& request) {
  const auto shape = any_shape(request);
  return shape && !shape->nhwc ? make_planar_convolution(request, *shape) : not_covered();
}

Result<std::unique_ptr<Kernel>> depthwise_convolution(const KernelRequest& request) {
  const auto shape = whole_shape(request);
  if (!shape || !shape->nhwc || shape->groups == 1) return not_covered();
  return make_depthwise_convolution(request, *shape);
}

Result<std::unique_ptr<Kernel>> small_groups_convolution(const KernelRequest& request) {
  const auto shape = whole_shape(request);
  return shape && shape->nhwc && shape->groups != 1 ? make_small_groups(request, *shape)
                                                    : not_covered();
}

Result<std::unique_ptr<Kernel>> dots_convolution(const KernelRequest& request) {
  const auto shape = dense_shape(request);
  return shape && request.precision == Precision::kF32 ? make_dot_convolution(request, *shape)
                                                       : not_covered();
}

Result<std::unique_ptr<Kernel>> winograd_2x2_convolution(const KernelRequest& request) {
  return winograd(request, WinogradForm::k2x2);
}
Result<std::unique_ptr<Kernel>> winograd_4x4_convolution(const KernelRequest& request) {
  return winograd(request, WinogradForm::k4x4);
}
Result<std::unique_ptr<Kernel>> winograd_1x4_convolution(const KernelRequest& request) {
  return winograd(request, WinogradForm::k1x4);
}
Result<std::unique_ptr<Kernel>> winograd_4x1_convolution(const KernelRequest& request) {
  return winograd(request, WinogradForm::k4x1);
}
Result<std::unique_ptr<Kernel>> winograd_1x4_stride2_convolution(const KernelRequest& request) {
  return winograd(request, WinogradForm::k1x4Stride2);
}

Result<std::unique_ptr<Kernel>> columns_bf16_convolution(const KernelRequest& request) {
  return columns(request, Precision::kBf16);
}

Result<std::unique_ptr<Kernel>> window_convolution(const KernelRequest& request) {
  const auto shape = dense_shape(request);
  return shape && request.precision == Precision::kF32 ? make_windows(request, *shape)
                                                       : not_covered();
}

Result<std::unique_ptr<Kernel>> columns_f32_convolution(const KernelRequest& request) {
  return columns(request, Precision::kF32);
}

Result<std::unique_ptr<Kernel>> grouped_convolution(const KernelRequest& request) {
  const auto shape = whole_shape(request);
  return shape && shape->nhwc ? make_grouped_convolution(request, *shape) : not_covered();
}

}  // namespace parallax
