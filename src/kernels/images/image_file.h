// Decoders of image files of several formats, from memory. Thread-safe: functions of their
// arguments. To decode: image_format(), then its size(), then decode() into an image of that size.
// The operator ImageDecoder calls them; kernels/images/decode.cc picks the format.
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
  /// For messages; a constant of the program.
  std::string_view name;
  /// Returns whether the first bytes are the format's signature. Reads no more than the signature,
  /// and returns false for a shorter file.
  bool (*matches)(const FileBytes& file) = nullptr;
  /// Reads height and width from the headers. Null for formats that are recognised but unsupported.
  /// The size is sane (ImageSize::is_sane()), so a caller may allocate by it.
  std::optional<ImageSize> (*size)(const FileBytes& file) = nullptr;
  /// Writes all pixels of the image. `size` is the result of size() for this file. After false some
  /// pixels may have been written. Null if `size` is.
  bool (*decode)(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) = nullptr;
};
/// Returns the format whose signature the file has; null if it is unknown. The result lives as long
/// as the process. The end of the file's name is not known here, so the signature alone decides.
const ImageFormat* image_format(const FileBytes& file);

// Formats that are implemented, each in a file of its own.
ImageFormat bmp_format();
ImageFormat png_format();
ImageFormat pnm_format();  ///< PBM, PGM and PPM
ImageFormat tiff_format();

}  // namespace parallax
