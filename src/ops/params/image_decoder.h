// The attribute of ImageDecoder (since operator set 20): u8 bytes of an image file [n] give u8
// pixels [height, width, channels], whose size only a run knows. kernels/images decodes.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Layout of decoded pixels: 3 bytes each for kRgb and kBgr, 1 for kGray, which is the luma of a
/// colour; rows from top to bottom.
enum class PixelFormat : std::uint8_t { kRgb, kBgr, kGray };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<PixelFormat> = {"RGB", "BGR",
                                                                          "Grayscale"};

/// ImageDecoder. Bytes that are no image give [0, 0, channels]; a format that is known but not
/// decoded is kUnsupported during the run.
struct ImageDecoderParams {
  /// ONNX `pixel_format`; it decides the channels, 3 or 1. Another string is refused with
  /// kUnsupported.
  PixelFormat pixel_format = PixelFormat::kRgb;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pixel_format", pixel_format);
  }
};

}  // namespace parallax
