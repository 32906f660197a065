#include "inputs/exif.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parallax::cli {
namespace {

/// Pixels by their letters, rows separated by '/'.
std::string as_text(const Image& image) {
  std::string text;
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto row = channels * static_cast<std::size_t>(image.width);
  for (std::size_t i = 0; i < image.pixels.size(); i += channels) {
    if (i > 0 && i % row == 0) text += '/';
    text += static_cast<char>(image.pixels[i]);
  }
  return text;
}

TEST(Oriented, TurnsAllEightWays) {
  const struct {
    int orientation;
    std::string_view shown;
  } cases[] = {{1, "abc/def"},  {2, "cba/fed"},  {3, "fed/cba"},  {4, "def/abc"},
               {5, "ad/be/cf"}, {6, "da/eb/fc"}, {7, "fc/eb/da"}, {8, "cf/be/ad"}};
  for (const auto& c : cases) {
    for (const int channels : {1, 3}) {
      Image image{3, 2, channels, {}, c.orientation};
      for (const char pixel : std::string_view("abcdef"))
        image.pixels.insert(image.pixels.end(), static_cast<std::size_t>(channels),
                            static_cast<std::uint8_t>(pixel));
      EXPECT_EQ(as_text(oriented(std::move(image))), c.shown) << c.orientation;
    }
  }
}

TEST(ExifOrientation, OfAnyBytesIsOneToEight) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kWhole =
      "\xFF\xD8\xFF\xE0\0\x04JF\xFF\xE1\0\x22"
      "Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"sv;
  EXPECT_EQ(exif_orientation(std::as_bytes(std::span(kWhole))), 6);
  for (std::size_t size = 0; size < kWhole.size(); ++size) {
    // At its exact size, so that a sanitizer sees a byte too far.
    const std::vector<char> part(kWhole.begin(),
                                 kWhole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(exif_orientation(std::as_bytes(std::span(part))), 1) << size;
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<char> damaged(kWhole.begin(), kWhole.end());
      damaged[size] = static_cast<char>(damaged[size] ^ (1 << bit));
      const int found = exif_orientation(std::as_bytes(std::span(damaged)));
      EXPECT_TRUE(found >= 1 && found <= 8) << size;
    }
  }
}

}  // namespace
}  // namespace parallax::cli
