// Conv of f32 with constant weights: which of the ways of this folder computes it.
#include "base/status.h"
#include "kernels/convolution_shape.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/winograd.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> simd_convolution(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape || !shape->nhwc) return not_covered();
  const Dims& w = request.inputs[1].dims;
  if (w[0] != shape->out_channels || w[1] * shape->groups != shape->in_channels)
    return not_covered();
  if (const auto form = winograd_form(*shape)) return make_winograd(request, *shape, *form);
  return not_covered();
}

}  // namespace parallax
