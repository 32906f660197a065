// Kernels that apply a function to each element of input 0: unary operators without an own loop.
// Inputs other than the first are not read: parameters are part of the function.
#pragma once

#include "kernels/reference/common.h"

namespace parallax {

/// Makes a kernel that writes f(x), converted to To, for each element x of input 0. The tensors
/// hold From and To and have equally many elements. `f` is copied into the kernel and called from
/// many threads concurrently. Tiles have about kElementsPerTile elements. The output may have the
/// input's address if From and To have the same size: element i is read before it is written, and
/// by the same tile. A kernel that is made so uses no scratch and reports no errors.
template <class From, class To, class F>
KernelResult map_elements(const KernelRequest& request, F f) {
  // An empty output gives no tiles.
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel({.tiles = tiles},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(count, tiles, tile);
                              const From* x = args.in<From>(0);
                              To* y = args.out<To>();
                              for (std::int64_t i = range.begin; i < range.end; ++i) y[i] = f(x[i]);
                              return {};
                            });
}

/// Variant for tensors of any type of a set: `f` is generic and returns its argument's type.
/// Returns a null kernel for types outside the set or not native. Types that are not native are
/// widened by the registry (kernels/widened.h), so `f` sees native types alone.
template <DTypeSet kSet, class F>
KernelResult map_typed_elements(const KernelRequest& request, F f) {
  return make_for<kSet>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return map_elements<T, T>(request, f);
  });
}

}  // namespace parallax
