// DepthToSpace and SpaceToDepth as one strided copy, for the kernels of every library. Tensors are
// NCHW, of any element type. Pure. The mode decides how a channel is numbered: DCR puts the place
// in the block before the result's channel, CRD after it.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "ops/params/movement.h"

namespace parallax {

/// The output as a dense tensor of six axes, outermost first: sizes, and strides of the input along
/// them, in elements. Element (i0, .., i5) of the output is the input's at sum of i[k] *
/// strides[k]. Sizes multiply to the output's elements; strides are not negative. Kernels hand both
/// to their strided loops (IndexSpace, StridedLoop).
struct SpaceBlocks {
  std::array<std::int64_t, 6> sizes{}, strides{};
};

/// Reads the axes of a DepthToSpace or SpaceToDepth from its shapes and the attributes blocksize
/// and mode. Dimensions may be 0; then there is no element to copy. REQUIRES: input and output have
/// rank 4 and shapes that fit, blocksize is at least 1.
inline SpaceBlocks space_blocks(const KernelRequest& request) {
  // `place` numbers the pixels of a block in row-major order.
  const bool to_space = request.node.op == OpKind::kDepthToSpace;
  const auto params = params_of<SpaceBlockParams>(request.node);
  const bool depth_first = params.mode == DepthOrder::kDcr;
  const std::int64_t block = params.blocksize;
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  // Elements of one channel and of one image of the input.
  const std::int64_t plane = in[2] * in[3], sample = in[1] * plane;
  if (to_space) {
    // Channels are ordered [place in block, result channel] for DCR, the other way round for CRD.
    const std::int64_t place = depth_first ? out[1] * plane : plane;
    const std::int64_t channel = depth_first ? plane : block * block * plane;
    // Axes of the output: batch, channel, row, row in block, column, column in block.
    return {{in[0], out[1], in[2], block, in[3], block},
            {sample, channel, in[3], block * place, 1, place}};
  }
  // Elements from an input row to the next, and from a row of blocks to the next.
  const std::int64_t row = in[3], rows = block * row;
  // SpaceToDepth: the places in a block become the outer part of the channels for DCR, else the
  // inner one.
  if (depth_first) {
    return {{in[0], block, block, in[1], out[2], out[3]}, {sample, row, 1, plane, rows, block}};
  }
  return {{in[0], in[1], block, block, out[2], out[3]}, {sample, plane, row, 1, rows, block}};
}

}  // namespace parallax
