// BMP: 8 bits with a palette, 24 and 32 bits, uncompressed.
#include "kernels/images/image_file.h"

namespace parallax {
namespace {

constexpr std::int64_t kFileHeader = 14, kMinInfoHeader = 40;

struct BmpHeader {
  std::int64_t pixels = 0, palette = 0, colours = 0, bits = 0;
  ImageSize size;
  bool top_down = false;

  std::int64_t row_bytes() const { return (size.width * bits + 31) / 32 * 4; }
};

std::optional<BmpHeader> bmp_header(const FileBytes& file) {
  if (!file.has(0, kFileHeader + kMinInfoHeader)) return std::nullopt;
  const auto number = [&](std::int64_t at, int count) { return file.number(at, count, false); };
  BmpHeader header;
  const std::int64_t info = number(14, 4);
  const auto height = static_cast<std::int32_t>(number(22, 4));
  header.pixels = number(10, 4);
  header.size.width = static_cast<std::int32_t>(number(18, 4));
  header.top_down = height < 0;
  header.size.height = header.top_down ? -static_cast<std::int64_t>(height) : height;
  header.bits = number(28, 2);
  header.palette = kFileHeader + info;
  header.colours = number(46, 4);
  if (header.colours == 0 || header.colours > 256) header.colours = 256;
  const bool known = header.bits == 8 || header.bits == 24 || header.bits == 32;
  if (info < kMinInfoHeader || number(30, 4) != 0 || !known || !header.size.is_sane())
    return std::nullopt;
  if (header.bits == 8 && !file.has(header.palette, 4 * header.colours)) return std::nullopt;
  if (!file.has(header.pixels, header.row_bytes() * header.size.height)) return std::nullopt;
  return header;
}

bool is_bmp(const FileBytes& file) { return file.starts_with("BM"); }

std::optional<ImageSize> bmp_size(const FileBytes& file) {
  const auto header = bmp_header(file);
  return header ? std::optional(header->size) : std::nullopt;
}

bool decode_bmp(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) {
  const auto header = bmp_header(file);
  if (!header) return false;
  const std::int64_t bytes = header->bits / 8;
  for (std::int64_t y = 0; y < size.height; ++y) {
    const std::int64_t line = header->top_down ? y : size.height - 1 - y;
    for (std::int64_t x = 0; x < size.width; ++x) {
      std::int64_t at = header->pixels + line * header->row_bytes() + x * bytes;
      if (bytes == 1) {
        if (file[at] >= header->colours) return false;
        at = header->palette + 4 * file[at];
      }
      pixels.put(y, x, file[at + 2], file[at + 1], file[at]);
    }
  }
  return true;
}

}  // namespace

ImageFormat bmp_format() { return {"BMP", is_bmp, bmp_size, decode_bmp}; }

}  // namespace parallax
