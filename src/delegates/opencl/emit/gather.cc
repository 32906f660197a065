// Emits Gather. Indices that are known when sizes are bound are checked then; others during the
// run, by the kernel.
#include <fmt/core.h>

#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/common.h"
#include "ops/params/axis.h"

namespace parallax::opencl {
namespace {

Result<KernelId> gather_kernel(std::int64_t element_bytes, DType index) {
  const bool wide = index == DType::kI64;
  if (!wide && index != DType::kI32) return not_covered("indices are not integers");
  if (element_bytes == 1) return wide ? KernelId::gather_8_i64 : KernelId::gather_8_i32;
  if (element_bytes == 2) return wide ? KernelId::gather_16_i64 : KernelId::gather_16_i32;
  if (element_bytes == 4) return wide ? KernelId::gather_32_i64 : KernelId::gather_32_i32;
  return wide ? KernelId::gather_64_i64 : KernelId::gather_64_i32;
}

}  // namespace

Status emit_gather(Emission& e) {
  const Dims& data = e.in(0);
  const int axis = positive_axis(params_of<AxisParams<0>>(e.node).axis, data.rank());
  const std::int64_t dim = data[axis], inner = count_of(data, axis + 1, data.rank());
  const std::int64_t total = e.out().elements(), picked = e.inputs[1].desc.elements();
  if (total == 0) return {};
  if (e.inputs[1].desc.data != nullptr) {
    PX_ASSIGN(const std::vector<std::int64_t> indices, known_integers(e.inputs[1]));
    for (const std::int64_t index : indices) {
      if (index >= -dim && index < dim) continue;
      Error error = bad_step(fmt::format("index {} is out of range for axis {} of {} elements",
                                         index, axis, dim))
                        .value();
      error.code = ErrorCode::kOutOfRange;
      return tl::unexpected(std::move(error));
    }
  }
  const TensorArgument y = e.output();
  PX_ASSIGN(const KernelId kernel, gather_kernel(y.element_bytes, e.inputs[1].desc.dtype));
  const TensorArgument fault{e.memory.fault(), 0, 4};
  e.launch(kernel, {groups_of(total), 1, 1},
           {static_cast<std::int32_t>(total), static_cast<std::int32_t>(picked),
            static_cast<std::int32_t>(inner), static_cast<std::int32_t>(dim), e.input(0),
            e.input(1), y, fault, e.mark});
  return {};
}

}  // namespace parallax::opencl
