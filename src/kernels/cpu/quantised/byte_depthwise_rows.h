// Kernels of ConvInteger in NHWC whose channels each have their own filter. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/quantised/requantisation.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

/// The common part of these kernels. A tile is a run of rows of outputs of an image.
class ByteDepthwiseKernel : public Kernel {
 public:
  /// `tile_macs`: multiply-accumulates of a tile.
  ByteDepthwiseKernel(const ConvolutionShape& shape, std::shared_ptr<const AlignedBytes> weights,
                      Requantisation to, std::int64_t tile_macs)
      : shape_(shape),
        weights_(std::move(weights)),
        to_(std::move(to)),
        runs_(count_tiles(shape.out[0],
                          shape.out[1] * shape.out_channels * shape.kernel[0] * shape.kernel[1],
                          tile_macs)) {}

  std::int64_t tiles() const override { return shape_.batch * runs_; }
  InputUse input_use(std::size_t input) const override {
    return input == kProductW || input == kProductWZero ? InputUse::kNone : InputUse::kAligned;
  }

 protected:
  std::int64_t image_of(std::int64_t tile) const { return tile / runs_; }
  TileRange rows_of(std::int64_t tile) const {
    return tile_range(shape_.out[0], runs_, tile % runs_);
  }

  ConvolutionShape shape_;
  std::shared_ptr<const AlignedBytes> weights_;
  Requantisation to_;

 private:
  std::int64_t runs_ = 1;
};

/// Creates the kernel of a depthwise convolution whose result is quantised, with AVX-512 VNNI.
/// Returns null if the CPU lacks that, the result is not of bytes, or the zero point of the weights
/// is not in the middle of their type. REQUIRES: at most kMaxByteDepthwiseTaps taps. Errors:
/// kOutOfMemory.
Result<std::unique_ptr<Kernel>> byte_depthwise_rows(const ConvolutionShape& shape,
                                                    const KernelRequest& request);

}  // namespace parallax
