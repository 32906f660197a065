// Attributes of ImageDecoder.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Layout of decoded pixels: 3 bytes each for kRgb and kBgr, 1 for kGray; rows from top to bottom.
enum class PixelFormat : std::uint8_t { kRgb, kBgr, kGray };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<PixelFormat> = {"RGB", "BGR",
                                                                          "Grayscale"};

struct ImageDecoderParams {
  PixelFormat pixel_format = PixelFormat::kRgb;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pixel_format", pixel_format);
  }
};

}  // namespace parallax
