// Decoders of image files of several formats, from memory. Thread-safe: functions of their
// arguments. To decode: image_format(), then its size(), then decode() into an image of that size.
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
  std::string_view name;  ///< for messages
  /// Returns whether the first bytes are the format's signature.
  bool (*matches)(const FileBytes& file) = nullptr;
  /// Reads height and width from the headers. Null for formats that are recognised but unsupported.
  std::optional<ImageSize> (*size)(const FileBytes& file) = nullptr;
  /// Writes all pixels of the image. `size` is the result of size() for this file. After false some
  /// pixels may have been written. Null if `size` is.
  bool (*decode)(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) = nullptr;
};
/// Returns the format whose signature the file has; null if it is unknown. The result lives as long
/// as the process.
const ImageFormat* image_format(const FileBytes& file);

// Formats that are implemented, each in a file of its own.
ImageFormat bmp_format();
ImageFormat png_format();
ImageFormat pnm_format();  ///< PBM, PGM and PPM
ImageFormat tiff_format();

}  // namespace parallax
