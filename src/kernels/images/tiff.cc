// TIFF: the first image of a file, uncompressed, 8 bits a sample, gray or RGB, in strips.
#include "kernels/images/image_file.h"

namespace parallax {
namespace {

/// Fields of the directory that are read.
enum Tag : std::int64_t {
  kWidth = 256,
  kLength = 257,
  kBits = 258,
  kCompression = 259,
  kPhotometric = 262,
  kStrips = 273,
  kSamples = 277,
  kRowsPerStrip = 278,
  kPlanar = 284,
};

class TiffReader {
 public:
  explicit TiffReader(const FileBytes& file) : file_(file), big_(file.starts_with("MM")) {
    directory_ = file.number(4, 4, big_);
    size_ = {field(kLength, 0), field(kWidth, 0)};
    samples_ = field(kSamples, 1);
    photometric_ = field(kPhotometric, -1);
    const std::int64_t least = photometric_ == 2 ? 3 : 1;
    good_ = size_.is_sane() && photometric_ >= 0 && photometric_ <= 2 && samples_ >= least &&
            samples_ <= 8 && field(kCompression, 1) == 1 && field(kPlanar, 1) == 1;
    for (std::int64_t i = 0; i < samples_ && good_; ++i) good_ = field(kBits, 1, i) == 8;
    rows_per_strip_ = field(kRowsPerStrip, size_.height);
    strips_ = find(kStrips);
    good_ = good_ && rows_per_strip_ > 0;
  }

  bool good() const { return good_; }
  const ImageSize& size() const { return size_; }
  /// Returns the offset in the file of row `y`, or nullopt if the file ends before the row does.
  std::optional<std::int64_t> row(std::int64_t y) const {
    const std::int64_t bytes = size_.width * samples_;
    const std::int64_t start = strips_.element(file_, big_, y / rows_per_strip_, -1);
    const std::int64_t at = start + y % rows_per_strip_ * bytes;
    return start >= 0 && file_.has(at, bytes) ? std::optional(at) : std::nullopt;
  }
  void put(std::int64_t y, std::int64_t x, std::int64_t row, PixelWriter& pixels) const {
    const std::int64_t at = row + x * samples_;
    if (photometric_ == 2) return pixels.put(y, x, file_[at], file_[at + 1], file_[at + 2]);
    const auto gray = static_cast<std::uint8_t>(photometric_ == 0 ? 255 - file_[at] : file_[at]);
    pixels.put(y, x, gray, gray, gray);
  }

 private:
  /// Numbers of a field, of 16 or 32 bits each.
  struct Field {
    std::int64_t place = 0, count = 0;
    int bytes = 2;

    std::int64_t element(const FileBytes& file, bool big, std::int64_t index,
                         std::int64_t fallback) const {
      const std::int64_t at = place + index * bytes;
      return index < count && file.has(at, bytes) ? file.number(at, bytes, big) : fallback;
    }
  };

  /// Returns the field with this tag; a field without elements if the directory lacks it.
  Field find(Tag tag) const {
    const std::int64_t entries = file_.number(directory_, 2, big_);
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t at = directory_ + 2 + 12 * i;
      if (!file_.has(at, 12)) return {};
      if (file_.number(at, 2, big_) != tag) continue;
      const std::int64_t type = file_.number(at + 2, 2, big_);
      if (type != 3 && type != 4) return {};
      Field field{at + 8, file_.number(at + 4, 4, big_), type == 3 ? 2 : 4};
      if (field.count * field.bytes > 4) field.place = file_.number(at + 8, 4, big_);
      return field;
    }
    return {};
  }
  std::int64_t field(Tag tag, std::int64_t fallback, std::int64_t index = 0) const {
    return find(tag).element(file_, big_, index, fallback);
  }

  const FileBytes& file_;
  bool big_;
  std::int64_t directory_ = 0, samples_ = 1, photometric_ = -1, rows_per_strip_ = 0;
  Field strips_;
  ImageSize size_;
  bool good_ = false;
};

bool is_tiff(const FileBytes& file) {
  return file.starts_with(std::string_view("II*\0", 4)) ||
         file.starts_with(std::string_view("MM\0*", 4));
}

std::optional<ImageSize> tiff_size(const FileBytes& file) {
  const TiffReader reader(file);
  return reader.good() ? std::optional(reader.size()) : std::nullopt;
}

bool decode_tiff(const FileBytes& file, const ImageSize& size, PixelWriter& pixels) {
  const TiffReader reader(file);
  for (std::int64_t y = 0; y < size.height; ++y) {
    const auto row = reader.row(y);
    if (!row) return false;
    for (std::int64_t x = 0; x < size.width; ++x) reader.put(y, x, *row, pixels);
  }
  return true;
}

}  // namespace

ImageFormat tiff_format() { return {"TIFF", is_tiff, tiff_size, decode_tiff}; }

}  // namespace parallax
