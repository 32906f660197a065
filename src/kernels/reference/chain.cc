// ElementwiseChain: its steps on reference kernels, block after block.
#include "kernels/chain_kernel.h"
#include "kernels/reference/common.h"

namespace parallax {

KernelResult reference_elementwise_chain(const KernelRequest& request) {
  ChainKernelOptions options;
  options.reference_only = true;
  options.block = 1 << 10;
  options.tiles = [](std::int64_t blocks, std::int64_t) { return tile_count(blocks, 32); };
  return make_chain_kernel(request, options);
}

}  // namespace parallax
