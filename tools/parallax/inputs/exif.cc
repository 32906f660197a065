#include "inputs/exif.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace parallax::cli {
namespace {

using Bytes = std::span<const std::byte>;

std::size_t number_at(Bytes bytes, std::size_t at, std::size_t size, bool big_endian) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = big_endian ? i : size - 1 - i;
    number = number << 8U | std::to_integer<std::size_t>(bytes[at + place]);
  }
  return number;
}

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
}

// Returns the contents of the segment with EXIF data, after its name; empty without such a segment.
Bytes exif_segment(Bytes file) {
  constexpr std::string_view kName("Exif\0\0", 6);
  constexpr std::size_t kMarker = 0xFF, kApp1 = 0xE1, kStartOfScan = 0xDA;
  for (std::size_t at = 2; at + 4 <= file.size();) {
    const std::size_t kind = number_at(file, at + 1, 1, true);
    const std::size_t length = number_at(file, at + 2, 2, true);  // its own bytes included
    if (number_at(file, at, 1, true) != kMarker || kind == kStartOfScan) break;
    if (length < 2 || length > file.size() - at - 2) break;
    const Bytes data = file.subspan(at + 4, length - 2);
    if (kind == kApp1 && starts_with(data, kName)) return data.subspan(kName.size());
    at += 2 + length;
  }
  return {};
}

}  // namespace

int exif_orientation(Bytes file) {
  constexpr std::size_t kHeader = 8, kEntry = 12, kOrientation = 0x0112, kShort = 3;
  if (!starts_with(file, "\xFF\xD8")) return 1;
  const Bytes tiff = exif_segment(file);
  const bool big = starts_with(tiff, "MM");
  if (tiff.size() < kHeader || (!big && !starts_with(tiff, "II"))) return 1;
  const std::size_t directory = number_at(tiff, 4, 4, big);
  if (directory > tiff.size() - 2) return 1;
  const std::size_t first = directory + 2, room = (tiff.size() - first) / kEntry;
  const std::size_t entries = std::min(number_at(tiff, directory, 2, big), room);
  for (std::size_t i = 0; i < entries; ++i) {
    const Bytes entry = tiff.subspan(first + i * kEntry, kEntry);
    if (number_at(entry, 0, 2, big) != kOrientation) continue;
    const std::size_t value = number_at(entry, 8, 2, big);
    return number_at(entry, 2, 2, big) == kShort && value >= 1 && value <= 8
               ? static_cast<int>(value)
               : 1;
  }
  return 1;
}

Image oriented(Image image) {
  const int orientation = image.orientation;
  if (orientation == 1) return image;
  const bool exchanged = orientation >= 5;
  // Counted along the stored axes: from which end the shown image begins.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image turned{image.width, image.height, image.channels, {}, orientation};
  if (exchanged) std::swap(turned.width, turned.height);
  turned.pixels.reserve(image.pixels.size());
  for (int y = 0; y < turned.height; ++y) {
    for (int x = 0; x < turned.width; ++x) {
      const int along = exchanged ? y : x, down = exchanged ? x : y;
      const int column = from_right ? image.width - 1 - along : along;
      const int row = from_bottom ? image.height - 1 - down : down;
      const auto pixel = static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
                         static_cast<std::size_t>(column);
      const auto* const from =
          image.pixels.data() + pixel * static_cast<std::size_t>(image.channels);
      turned.pixels.insert(turned.pixels.end(), from, from + image.channels);
    }
  }
  return turned;
}

}  // namespace parallax::cli
