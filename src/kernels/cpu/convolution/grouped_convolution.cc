#include "kernels/cpu/convolution/grouped_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/window_convolution.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Packs the filters of one group, `source`, as columns; rows by kernel columns, kernel rows,
/// channels.
void pack_group(const ConvolutionShape& shape, const PackedMatrix& matrix, const std::byte* source,
                float* to) {
  const std::int64_t channels = shape.in_channels / shape.groups;
  const std::int64_t height = shape.kernel[0], width = shape.kernel[1];
  for (std::int64_t p = 0; p < matrix.panels(); ++p) {
    const std::int64_t stride = matrix.stride(p);
    std::fill_n(to, matrix.depth * stride, 0.0F);
    for (std::int64_t m = 0; m < matrix.width(p); ++m)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j, source += kFloatBytes)
            std::memcpy(to + ((j * height + i) * channels + c) * stride + m, source, sizeof(float));
    to += matrix.depth * stride;
  }
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_grouped_convolution(const KernelRequest& request,
                                                         const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  if (!activation || !shape.nhwc) return not_covered();
  const TensorDesc& w = request.inputs[1];
  PackedMatrix matrix(gemm_type(Precision::kF32), w.elements() / shape.out_channels,
                      shape.out_channels / shape.groups);
  const auto group = matrix.size();
  const auto bytes = group ? checked_mul(*group, shape.groups) : std::nullopt;
  if (!bytes) return not_covered();
  const std::string layout =
      fmt::format("groups {}x{}x{}x{}x{} panel {} vector {}", shape.groups, matrix.columns,
                  shape.in_channels / shape.groups, shape.kernel[0], shape.kernel[1],
                  matrix.widths.panel, matrix.widths.vector);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto pack = [shape, matrix, size = *group, source = w.data](std::byte* to) {
    const std::int64_t from = matrix.depth * matrix.columns * kFloatBytes;
    for (std::int64_t g = 0; g < shape.groups; ++g)
      pack_group(shape, matrix, source + g * from, reinterpret_cast<float*>(to + g * size));
  };
  PX_ASSIGN(matrix.bytes, request.packed.get(w.data, layout, *bytes, pack));
  return make_grouped_windows(shape, matrix, *activation, *request.machine);
}

}  // namespace parallax
