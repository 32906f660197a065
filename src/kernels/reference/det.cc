// Det: the product of the diagonal that elimination with pivots leaves, in double.
#include "kernels/reference/common.h"

namespace parallax {
namespace {

/// Overwrites `a` [m, m].
double determinant(double* a, std::int64_t m) {
  double result = 1;
  for (std::int64_t k = 0; k < m; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (std::abs(a[i * m + k]) > std::abs(a[pivot * m + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(a + k * m, a + (k + 1) * m, a + pivot * m);
      result = -result;
    }
    const double diagonal = a[k * m + k];
    result *= diagonal;
    if (diagonal == 0) continue;  // the rows below have nothing to eliminate
    for (std::int64_t i = k + 1; i < m; ++i) {
      const double factor = a[i * m + k] / diagonal;
      for (std::int64_t j = k + 1; j < m; ++j) a[i * m + j] -= factor * a[k * m + j];
    }
  }
  return result;
}

}  // namespace

/// One tile per matrix; a matrix without rows has the determinant 1.
KernelResult reference_det(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const std::int64_t m = dims[dims.rank() - 1];
  const auto elements = checked_mul(m, m);
  const auto bytes = elements ? checked_mul(*elements, sizeof(double)) : std::nullopt;
  if (!bytes) return make_error(ErrorCode::kOutOfMemory, "a matrix does not fit 63 bits");
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = request.outputs[0].elements(), .scratch_bytes = *bytes},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                auto* const a = reinterpret_cast<double*>(args.scratch.data());
                                for (std::int64_t i = 0; i < m * m; ++i)
                                  a[i] = static_cast<double>(args.in<T>(0)[tile * m * m + i]);
                                args.out<T>()[tile] = static_cast<T>(determinant(a, m));
                                return {};
                              });
  });
}

}  // namespace parallax
