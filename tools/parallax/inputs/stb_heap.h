// stb_image with memory from one block and without calls of the system: for image_decoder only.
#pragma once

#include <cstddef>
#include <span>

namespace parallax::cli {

/// Destination of a decoded image.
struct DecodedPixels {
  int* width;
  int* height;
  std::byte* pixels;
};

/// Null, or why `file` cannot be decoded: a static text. `heap` has all memory that this takes.
/// Writes at most `most_pixels` x `channels` bytes. Not thread-safe.
const char* decode_with_stb(std::span<const std::byte> file, int channels,
                            std::span<std::byte> heap, int most_side, int most_pixels,
                            DecodedPixels to);

}  // namespace parallax::cli
