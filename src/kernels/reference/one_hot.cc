// OneHot, EyeLike, Trilu.
#include "kernels/reference/common.h"
#include "ops/params/axis.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

/// Returns element `i` as an index below `depth`, negative ones counted from the end; -1 if it is
/// out of range.
template <class T>
std::int64_t hot_index(const void* indices, std::int64_t i, std::int64_t depth) {
  const T x = static_cast<const T*>(indices)[i];
  if constexpr (std::is_floating_point_v<T>) {
    if (!(x >= static_cast<T>(-depth) && x < static_cast<T>(depth))) return -1;
  } else {
    if (std::cmp_less(x, -depth) || std::cmp_greater_equal(x, depth)) return -1;
  }
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): i8 is a number here
  const auto index = static_cast<std::int64_t>(x);
  return index < 0 ? index + depth : index;
}

}  // namespace

KernelResult reference_one_hot(const KernelRequest& request) {
  using Index = std::int64_t (*)(const void*, std::int64_t, std::int64_t);
  Index index = nullptr;
  PX_RETURN_IF_ERROR(
      make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
        index = hot_index<typename decltype(type)::type>;
        return nullptr;
      }));
  if (index == nullptr) return nullptr;
  const Dims& out = request.outputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<-1>>(request.node).axis, out.rank());
  const std::int64_t depth = out[axis], inner = count_of(out, axis + 1, out.rank());
  const std::int64_t outer = count_of(out, 0, axis), block = depth * inner;
  const std::int64_t tiles =
      block == 0 ? 0 : tile_count(outer, std::max<std::int64_t>(kElementsPerTile / block, 1));
  return make_for_size(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b100, .unused_inputs = 0b010},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(outer, tiles, tile);
          const T off = load_element<T>(args.inputs[2], 0), on = load_element<T>(args.inputs[2], 1);
          for (std::int64_t o = range.begin; o < range.end; ++o) {
            T* y = args.out<T>() + o * block;
            std::fill_n(y, block, off);
            for (std::int64_t i = 0; i < inner; ++i) {
              const std::int64_t hot = index(args.inputs[0], o * inner + i, depth);
              if (hot >= 0) y[hot * inner + i] = on;
            }
          }
          return {};
        });
  });
}

KernelResult reference_eye_like(const KernelRequest& request) {
  const Dims& dims = request.outputs[0].dims;
  const std::int64_t columns = dims[1], rows = columns == 0 ? 0 : dims[0];
  const std::int64_t diagonal = params_of<EyeLikeParams>(request.node).k;
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(columns, 1), 1));
  return make_for<kAllTypes>(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .unused_inputs = 1},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(rows, tiles, tile);
                                for (std::int64_t row = range.begin; row < range.end; ++row) {
                                  for (std::int64_t column = 0; column < columns; ++column)
                                    args.out<T>()[row * columns + column] =
                                        convert<T>(column - row == diagonal ? 1 : 0);
                                }
                                return {};
                              });
  });
}

KernelResult reference_trilu(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const std::int64_t height = dims[dims.rank() - 2], width = dims[dims.rank() - 1];
  const std::int64_t rows = dims.elements() == 0 ? 0 : dims.elements() / width;
  const bool upper = params_of<TriluParams>(request.node).upper, has_k = request.has(1);
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(width, 1), 1));
  return make_for_size(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b11},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(rows, tiles, tile);
          const std::int64_t k = has_k ? load_element<std::int64_t>(args.inputs[1], 0) : 0;
          for (std::int64_t row = range.begin; row < range.end; ++row) {
            // The first column on the kept side, or the first beyond it.
            const std::int64_t shift = std::clamp(k, -height, width);
            const std::int64_t edge =
                std::clamp<std::int64_t>(row % height + shift + (upper ? 0 : 1), 0, width);
            T* y = args.out<T>() + row * width;
            std::fill_n(y, width, T{0});
            const std::int64_t begin = upper ? edge : 0, end = upper ? width : edge;
            if (begin < end)
              std::memcpy(
                  y + begin,
                  args.inputs[0] + (row * width + begin) * static_cast<std::int64_t>(sizeof(T)),
                  static_cast<std::size_t>(end - begin) * sizeof(T));
          }
          return {};
        });
  });
}

}  // namespace parallax
