// MaxUnpool: writes zeros, then each element at its index. Indices refer to the shape that follows
// from the attributes, which is a corner of the output if output_shape is larger.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Returns the shape of the tensor that was pooled; nullopt if its size does not fit 63 bits.
std::optional<Dims> pooled_dims(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  const auto params = params_of<MaxUnpoolParams>(request.node);
  const auto& kernel = params.kernel_shape;
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  if (kernel.size() != axes) return std::nullopt;
  Dims dims{x[0], x[1]};
  std::optional<std::int64_t> elements = checked_mul(x[0], x[1]);
  for (std::size_t i = 0; i < axes; ++i) {
    auto dim = checked_mul(x[static_cast<int>(i) + 2] - 1, params.stride(i));
    if (dim) dim = checked_add(*dim, kernel[i]);
    if (!dim) return std::nullopt;
    const Padding padding = params.stated_padding(i, axes);
    *dim -= padding.begin + padding.end;
    dims.push_back(std::max<std::int64_t>(*dim, 0));
    elements = elements ? checked_mul(*elements, dims[dims.rank() - 1]) : std::nullopt;
  }
  return elements ? std::optional(dims) : std::nullopt;
}

/// Returns the row-major offset in `to` of element `index` of `from`; nullopt if it is outside.
std::optional<std::int64_t> placed(const Dims& from, const Dims& to, std::int64_t index) {
  if (index < 0 || index >= from.elements()) return std::nullopt;
  std::int64_t offset = 0, stride = 1;
  for (int axis = from.rank() - 1; axis >= 0; --axis) {
    const std::int64_t at = index % from[axis];
    if (at >= to[axis]) return std::nullopt;
    index /= from[axis];
    offset += at * stride;
    stride *= to[axis];
  }
  return offset;
}

}  // namespace

KernelResult reference_max_unpool(const KernelRequest& request) {
  const auto from = pooled_dims(request);
  if (!from) return make_error(ErrorCode::kInvalidInput, "the unpooled tensor is too large");
  const Dims to = request.outputs[0].dims;
  const std::int64_t count = request.inputs[0].elements(), all = to.elements();
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {}, [=, from = *from](std::int64_t, const KernelArgs& args) -> Status {
          std::fill_n(args.out<T>(), all, T{0});
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t index = args.in<std::int64_t>(1)[i];
            const auto at = placed(from, to, index);
            if (!at) return run_error(ErrorCode::kOutOfRange, fmt::format("index {}", index));
            args.out<T>()[*at] = args.in<T>(0)[i];
          }
          return {};
        });
  });
}

}  // namespace parallax
