#include "kernels/images/image_file.h"

namespace parallax {
namespace {

bool is_jpeg(const FileBytes& file) { return file.starts_with("\xFF\xD8\xFF"); }
bool is_webp(const FileBytes& file) {
  return file.starts_with("RIFF") && file.number(8, 4, true) == 0x57454250;
}
bool is_jpeg2000(const FileBytes& file) {
  return file.starts_with("\xFF\x4F\xFF\x51") || file.number(4, 4, true) == 0x6A502020;
}

}  // namespace

const ImageFormat* image_format(const FileBytes& file) {
  static const std::array kFormats = {bmp_format(),
                                      pnm_format(),
                                      tiff_format(),
                                      png_format(),
                                      ImageFormat{"JPEG", is_jpeg},
                                      ImageFormat{"WebP", is_webp},
                                      ImageFormat{"JPEG 2000", is_jpeg2000}};
  for (const ImageFormat& format : kFormats)
    if (format.matches(file)) return &format;
  return nullptr;
}

}  // namespace parallax
