// Image files of several formats, decoded from memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/images/pixels.h"

namespace parallax {

/// A file format. For a file that is malformed or of an unsupported variant, `size` returns nullopt
/// and `decode` returns false.
struct ImageFormat {
  std::string_view name;
  bool (*matches)(const FileBytes& file) = nullptr;
  /// Null where files of the format are recognised and nothing more.
  std::optional<ImageSize> (*size)(const FileBytes& file) = nullptr;
  /// Writes all pixels of an image of that size.
  bool (*decode)(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) = nullptr;
};
/// The one that the file's first bytes name; null for others.
const ImageFormat* image_format(const FileBytes& file);

// Each in a file of its own.
ImageFormat bmp_format();
ImageFormat png_format();
ImageFormat pnm_format();
ImageFormat tiff_format();

}  // namespace parallax
