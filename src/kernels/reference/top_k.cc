// TopK: the k largest or smallest along an axis. Among equal elements the lower index comes first;
// NaN counts as larger than any number. The result is always sorted.
#include "kernels/reference/common.h"
#include "ops/params/reduce.h"

namespace parallax {
namespace {

/// Returns whether `a` comes before `b` in the requested order; false for equal elements.
template <class T>
bool precedes(T a, T b, bool largest) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return largest ? a_nan && !b_nan : b_nan && !a_nan;
  return largest ? a > b : a < b;
}

template <class T>
void select(const T* x, std::int64_t dim, std::int64_t step, std::int64_t k, bool largest,
            std::int64_t* order) {
  for (std::int64_t i = 0; i < dim; ++i) order[i] = i;
  const auto before = [&](std::int64_t a, std::int64_t b) {
    if (precedes(x[a * step], x[b * step], largest)) return true;
    if (precedes(x[b * step], x[a * step], largest)) return false;
    return a < b;
  };
  std::partial_sort(order, order + k, order + dim, before);
}

}  // namespace

KernelResult reference_top_k(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  const bool largest = params_of<TopKParams>(request.node).largest;
  const TensorDesc& result = request.outputs[0].present ? request.outputs[0] : request.outputs[1];
  const std::int64_t dim = dims[axis], k = result.dims[axis];
  const std::int64_t inner = count_of(dims, axis + 1, dims.rank());
  const std::int64_t lines = result.elements() == 0 ? 0 : result.elements() / k;
  if (k > dim) return make_error(ErrorCode::kInvalidInput, "k is larger than the axis");
  const auto scratch = checked_mul(dim, 8);
  if (!scratch) return make_error(ErrorCode::kOutOfMemory, "the axis is too long");
  const std::int64_t tiles = tile_count(
      lines, std::max<std::int64_t>(kElementsPerTile / 16 / std::max<std::int64_t>(dim, 1), 1));
  const LambdaKernelOptions options{
      .tiles = tiles, .scratch_bytes = *scratch, .unused_inputs = 0b10};
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      auto* order = reinterpret_cast<std::int64_t*>(args.scratch.data());
      const TileRange range = tile_range(lines, tiles, tile);
      for (std::int64_t line = range.begin; line < range.end; ++line) {
        const T* x = args.in<T>(0) + line / inner * dim * inner + line % inner;
        select(x, dim, inner, k, largest, order);
        const std::int64_t base = line / inner * k * inner + line % inner;
        for (std::int64_t i = 0; i < k; ++i) {
          if (args.outputs[0] != nullptr) args.out<T>(0)[base + i * inner] = x[order[i] * inner];
          if (args.outputs.size() > 1 && args.outputs[1] != nullptr) {
            args.out<std::int64_t>(1)[base + i * inner] = order[i];
          }
        }
      }
      return {};
    });
  });
}

}  // namespace parallax
