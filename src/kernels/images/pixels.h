// Bounds-checked reads of image files and writes of decoded pixels into a tensor, shared by all
// decoders. Files are untrusted: every size and offset is checked.
//
// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/checked.h"
#include "ops/params/image_decoder.h"

namespace parallax {

/// Limit of the pixels of an image: a small file may claim any size. Three bytes of each are 768
/// MiB.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

/// Size in pixels, as a file's header states it: check is_sane() before use.
struct ImageSize {
  std::int64_t height = 0, width = 0;

  /// Returns whether the image has pixels, and no more than kMaxPixels; cannot overflow.
  bool is_sane() const {
    // Divides, as the product of two sizes from a file may overflow.
    return height > 0 && width > 0 && height <= kMaxPixels && width <= kMaxPixels / height;
  }
};

/// Bytes of a file. A view: the memory must outlive it. Offsets and counts are bytes from the
/// beginning of the file.
class FileBytes {
 public:
  explicit FileBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Length of the file in bytes.
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  /// Returns whether bytes [at, at + count) exist; false for negative arguments.
  bool has(std::int64_t at, std::int64_t count) const {
    return at >= 0 && count >= 0 && at <= size() && count <= size() - at;
  }
  /// Returns byte `at`. The bound is not checked here. REQUIRES: has(at, 1).
  std::uint8_t operator[](std::int64_t at) const { return bytes_[static_cast<std::size_t>(at)]; }
  /// Returns the unsigned number in the `count` bytes at `at`, 4 at most; 0 if the file ends before
  /// the number does. Thus decoders may read headers without checking the length first. REQUIRES: 0
  /// <= count <= 4.
  std::int64_t number(std::int64_t at, int count, bool big_endian) const {
    if (!has(at, count)) return 0;
    std::int64_t value = 0;
    for (int i = 0; i < count; ++i) {
      const std::int64_t byte = (*this)[at + (big_endian ? count - 1 - i : i)];
      value |= byte << (8 * i);
    }
    return value;
  }
  /// Compares bytes, so `text` may be a binary signature. A file that is shorter than `text` does
  /// not start with it.
  bool starts_with(std::string_view text) const {
    if (!has(0, static_cast<std::int64_t>(text.size()))) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (bytes_[i] != static_cast<std::uint8_t>(text[i])) return false;
    return true;
  }
  /// The bytes themselves, for decoders that check bounds on their own.
  std::span<const std::uint8_t> span() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Writes pixels to memory in the requested format: [height, width, 3], or [height, width, 1] for
/// kGray. Does not check bounds. Channels are in the order R, G, B for kRgb and B, G, R for kBgr, 8
/// bits each; rows are dense, the top one first.
class PixelWriter {
 public:
  /// `to` has room for all pixels of an image that is `width` pixels wide; null discards pixels,
  /// for a pass that only validates the file.
  PixelWriter(PixelFormat format, std::int64_t width, std::uint8_t* to)
      : format_(format), width_(width), to_(to) {}

  /// Writes the pixel in row `y`, column `x`; kGray gets its luma. REQUIRES: it lies on the image.
  void put(std::int64_t y, std::int64_t x, std::uint8_t r, std::uint8_t g, std::uint8_t b) {
    if (to_ == nullptr) return;
    const std::int64_t at = y * width_ + x;
    if (format_ == PixelFormat::kGray) {
      // Luma of ITU-R BT.601 (0.299 R + 0.587 G + 0.114 B) in 16-bit fixed point, rounded.
      to_[at] = static_cast<std::uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
      return;
    }
    // Both colour formats have green in the middle.
    std::uint8_t* pixel = to_ + at * 3;
    const bool bgr = format_ == PixelFormat::kBgr;
    pixel[0] = bgr ? b : r;
    pixel[1] = g;
    pixel[2] = bgr ? r : b;
  }

 private:
  PixelFormat format_;  ///< layout of the memory at to_
  std::int64_t width_;  ///< pixels of a row
  std::uint8_t* to_;    ///< not owned
};

}  // namespace parallax
