// PNG, by stb_image.
#include <cstdlib>
#include <limits>
#include <memory>

#include "kernels/images/image_file.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace parallax {
namespace {

/// stb has up to 24 bytes for each pixel.
constexpr std::int64_t kMaxPngPixels = std::int64_t{1} << 25;

struct FreePixels {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

bool is_png(const FileBytes& file) {
  return file.starts_with("\x89PNG\r\n\x1A\n") && file.size() <= std::numeric_limits<int>::max();
}

std::optional<ImageSize> png_size(const FileBytes& file) {
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(file.span().data(), static_cast<int>(file.size()), &width, &height,
                            &channels) == 0)
    return std::nullopt;
  const ImageSize size{height, width};
  if (!size.is_sane() || size.height > kMaxPngPixels / size.width) return std::nullopt;
  return size;
}

bool decode_png(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) {
  int width = 0, height = 0, channels = 0;
  constexpr int kWanted = 3;  // transparency is dropped
  const std::unique_ptr<stbi_uc, FreePixels> decoded(stbi_load_from_memory(
      file.span().data(), static_cast<int>(file.size()), &width, &height, &channels, kWanted));
  if (decoded == nullptr || width != size.width || height != size.height) return false;
  const stbi_uc* pixel = decoded.get();
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x, pixel += kWanted)
      pixels.put(y, x, pixel[0], pixel[1], pixel[2]);
  return true;
}

}  // namespace

ImageFormat png_format() { return {"PNG", is_png, png_size, decode_png}; }

}  // namespace parallax
