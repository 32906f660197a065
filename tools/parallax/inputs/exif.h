// How a photo lies: the EXIF orientation of JPEG files.
#pragma once

#include <cstddef>
#include <span>

#include "inputs/image_decoder.h"

namespace parallax::cli {

/// The orientation that the file names, 1 to 8; 1, pixels as they are stored, if it names none or
/// is no JPEG. The file may be damaged.
int exif_orientation(std::span<const std::byte> file);

/// `image`, whose pixels are as they are stored, turned as its orientation says. 2 to 4: mirrored,
/// turned by 180 degrees, upside down; 5 to 8: with width and height exchanged.
Image oriented(Image image);

}  // namespace parallax::cli
