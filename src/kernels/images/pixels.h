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

namespace parallax {

enum class PixelFormat : std::uint8_t { kRgb, kBgr, kGray };

/// Images have no more pixels: a file of some bytes may claim any number.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

struct ImageSize {
  std::int64_t height = 0, width = 0;

  bool is_sane() const {
    return height > 0 && width > 0 && height <= kMostPixels && width <= kMostPixels / height;
  }
};

/// Bytes of a file.
class FileBytes {
 public:
  explicit FileBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  bool has(std::int64_t at, std::int64_t count) const {
    return at >= 0 && count >= 0 && at <= size() && count <= size() - at;
  }
  /// REQUIRES: has(at, 1).
  std::uint8_t operator[](std::int64_t at) const { return bytes_[static_cast<std::size_t>(at)]; }
  /// An unsigned number of `count` bytes, at most 4; 0 where the file ends before it.
  std::int64_t number(std::int64_t at, int count, bool big_endian) const {
    if (!has(at, count)) return 0;
    std::int64_t value = 0;
    for (int i = 0; i < count; ++i) {
      const std::int64_t byte = (*this)[at + (big_endian ? count - 1 - i : i)];
      value |= byte << (8 * i);
    }
    return value;
  }
  bool starts_with(std::string_view text) const {
    if (!has(0, static_cast<std::int64_t>(text.size()))) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (bytes_[i] != static_cast<std::uint8_t>(text[i])) return false;
    return true;
  }
  std::span<const std::uint8_t> span() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Writes pixels, one after the other, in the wanted format.
class PixelWriter {
 public:
  /// `to` has room for all pixels of the image; null: they go nowhere.
  PixelWriter(PixelFormat format, std::int64_t width, std::uint8_t* to)
      : format_(format), width_(width), to_(to) {}

  void put(std::int64_t y, std::int64_t x, std::uint8_t r, std::uint8_t g, std::uint8_t b) {
    if (to_ == nullptr) return;
    const std::int64_t at = y * width_ + x;
    if (format_ == PixelFormat::kGray) {
      // ITU-R 601's luma in 16 bits.
      to_[at] = static_cast<std::uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
      return;
    }
    std::uint8_t* pixel = to_ + at * 3;
    const bool bgr = format_ == PixelFormat::kBgr;
    pixel[0] = bgr ? b : r;
    pixel[1] = g;
    pixel[2] = bgr ? r : b;
  }

 private:
  PixelFormat format_;
  std::int64_t width_;
  std::uint8_t* to_;
};

}  // namespace parallax
