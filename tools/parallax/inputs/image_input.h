// Inputs made from images: `--image NAME=FILE`.
#pragma once

#include <string>

#include "inputs/image_decoder.h"
#include "options/options.h"

namespace parallax::cli {

/// The image at `path` as a tensor for `input`, whose shape is [1x]CxHxW or [1x]HxWxC with 1 or 3
/// channels. Free dimensions take the values in `values` for run `run`; a free height or width
/// without one takes the image's own, a free batch 1, and `values` gets it. Errors: of
/// decode_image; kInvalidInput for other shapes and types. Throws UsageError for more than one
/// image a batch, and numbers of means that are not the channels'.
Result<Tensor> image_tensor(const ImageOptions& options, const TensorInfo& input,
                            const std::string& path, SymbolValues& values, std::size_t run);

/// Pixels as floats, 0 to 255, channels interleaved.
struct FloatImage {
  int width = 0, height = 0, channels = 0;
  std::vector<float> pixels;
};
/// Bilinear; if it shrinks, over all pixels that become one (as Pillow and torchvision do).
FloatImage resize(const FloatImage& image, int width, int height);

}  // namespace parallax::cli
