// Pixels of JPEG, PNG and BMP files, which may come from anywhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "parallax/result.h"

namespace parallax::cli {

/// 8 bits a channel, rows from the top, channels interleaved: grey, or red, green and blue.
struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
  int orientation = 1;  ///< EXIF orientation of the file; already applied to the pixels
};

inline constexpr int kMaxImagePixels = 1 << 26;  // 64 megapixels
inline constexpr int kMaxImageSide = 1 << 14;

/// `channels`: 1 or 3, whatever the file has; transparency is dropped. Photos are turned
/// as their EXIF orientation says. The decoder (stb_image,
/// whose Debian release has known errors) runs in a child process that can do nothing but compute:
/// a file that breaks it is an error. Errors: kIo; kInvalidInput for what is no image, is damaged,
/// has more than kMaxImagePixels, or takes longer than 20 s.
Result<Image> decode_image(const std::filesystem::path& path, int channels);

}  // namespace parallax::cli
