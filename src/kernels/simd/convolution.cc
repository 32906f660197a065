// Conv of f32 with constant weights: which of the ways of this folder computes it.
#include "base/status.h"
#include "kernels/convolution_shape.h"
#include "kernels/simd/column_convolution.h"
#include "kernels/simd/depthwise_convolution.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/winograd.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> simd_convolution(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return not_covered();
  const Dims& w = request.inputs[1].dims;
  if (w[0] != shape->out_channels || w[1] * shape->groups != shape->in_channels)
    return not_covered();
  if (!shape->nhwc) return make_plane_convolution(request, *shape);
  if (shape->groups != 1) return make_depthwise_convolution(request, *shape);
  // Along one axis at most half of the multiplications are saved, as bf16 does.
  const auto form = winograd_form(*shape);
  if (form && !(request.bf16 && shape->kernel[0] == 1)) {
    PX_ASSIGN(auto kernel, make_winograd(request, *shape, *form));
    if (kernel != nullptr) return kernel;
  }
  return make_column_convolution(request, *shape);
}

}  // namespace parallax
