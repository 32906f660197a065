// Portable bitmaps, graymaps and pixmaps, as text (P1 to P3) and binary (P4 to P6) with samples of
// at most a byte.
#include "kernels/images/image_file.h"

namespace parallax {
namespace {

/// Reads numbers and samples of the file in order.
class PnmReader {
 public:
  explicit PnmReader(const FileBytes& file) : file_(file) {
    kind_ = file.has(0, 3) ? file[1] - '0' : 0;
    size_.width = next_number();
    size_.height = next_number();
    most_ = kind_ == 1 || kind_ == 4 ? 1 : next_number();
    ++at_;  // one blank ends the header
    const bool sane = good_ && size_.is_sane() && most_ >= 1 && most_ <= 255;
    const std::int64_t line =
        kind_ == 4 ? (size_.width + 7) / 8 : size_.width * (kind_ == 6 ? 3 : 1);
    good_ = sane && (kind_ < 4 || file.has(at_, line * size_.height));
  }

  bool good() const { return good_; }
  const ImageSize& size() const { return size_; }
  bool coloured() const { return kind_ == 3 || kind_ == 6; }
  /// Returns the next sample as a byte. At the end of the data, good() becomes false.
  std::uint8_t sample(std::int64_t x) {
    std::int64_t value = 0;
    if (kind_ == 1) {
      value = 1 - next_digit();
    } else if (kind_ == 4) {
      value = 1 - ((file_[at_] >> (7 - x % 8)) & 1);
      if (x % 8 == 7 || x == size_.width - 1) ++at_;
    } else {
      value = kind_ < 4 ? next_number() : file_[at_++];
    }
    value = value > most_ ? most_ : value;
    return static_cast<std::uint8_t>((value * 255 + most_ / 2) / most_);
  }

 private:
  static bool is_blank(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  void skip_blanks() {
    while (file_.has(at_, 1) && (is_blank(file_[at_]) || file_[at_] == '#')) {
      if (file_[at_] == '#')
        while (file_.has(at_, 1) && file_[at_] != '\n') ++at_;
      else
        ++at_;
    }
  }
  std::int64_t next_number() {
    skip_blanks();
    std::int64_t value = 0;
    int digits = 0;
    for (; file_.has(at_, 1) && file_[at_] >= '0' && file_[at_] <= '9' && digits < 10; ++digits)
      value = value * 10 + file_[at_++] - '0';
    if (digits == 0) good_ = false;
    return value;
  }
  /// Reads the next digit of a plain-text bitmap, whose digits need no blanks between them.
  std::int64_t next_digit() {
    skip_blanks();
    if (!file_.has(at_, 1) || (file_[at_] != '0' && file_[at_] != '1')) {
      good_ = false;
      return 0;
    }
    return file_[at_++] - '0';
  }

  const FileBytes& file_;
  std::int64_t at_ = 2, most_ = 1;
  int kind_ = 0;
  ImageSize size_;
  bool good_ = true;
};

bool is_pnm(const FileBytes& file) {
  return file.has(0, 3) && file[0] == 'P' && file[1] >= '1' && file[1] <= '6';
}

std::optional<ImageSize> pnm_size(const FileBytes& file) {
  const PnmReader reader(file);
  return reader.good() ? std::optional(reader.size()) : std::nullopt;
}

bool decode_pnm(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) {
  PnmReader reader(file);
  for (std::int64_t y = 0; y < size.height && reader.good(); ++y) {
    for (std::int64_t x = 0; x < size.width && reader.good(); ++x) {
      const std::uint8_t r = reader.sample(x);
      const std::uint8_t g = reader.coloured() ? reader.sample(x) : r;
      const std::uint8_t b = reader.coloured() ? reader.sample(x) : r;
      pixels.put(y, x, r, g, b);
    }
  }
  return reader.good();
}

}  // namespace

ImageFormat pnm_format() { return {"PNM", is_pnm, pnm_size, decode_pnm}; }

}  // namespace parallax
