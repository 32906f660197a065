#include "load/containers/litertlm.h"

#include <fmt/core.h>

#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "load/containers/litertlm_schema.h"
#include "load/names.h"
#include "load/tflite/tflite_file.h"

namespace parallax {
namespace {

namespace schema = litertlm_schema;

constexpr std::string_view kMagic = "LITERTLM";
/// Places of the three numbers of the version, of the offset at which the header ends, and of the
/// header.
constexpr std::size_t kVersion = 8, kHeaderEnd = 24, kHeader = 32;
constexpr std::int64_t kMajor = 1;

/// Reads the sections of a header whose tables have been verified. Tables may share what they refer
/// to: `left_` bounds what all of them read.
class SectionReader {
 public:
  SectionReader(std::span<const std::byte> file, std::size_t header)
      : file_(file), header_end_(static_cast<std::int64_t>(kHeader + header)), left_(header) {}

  Result<std::vector<Section>> read(const schema::Header& header) {
    const auto* const metadata = header.section_metadata();
    if (metadata == nullptr || metadata->objects() == nullptr)
      return invalid_model("the LiteRT-LM file has no sections");
    for (const schema::SectionObject* const object : *metadata->objects())
      PX_RETURN_IF_ERROR(add(*object));
    if (overlap(std::move(ranges_))) return invalid_model("sections of the LiteRT-LM file overlap");
    return std::move(sections_);
  }

 private:
  Status add(const schema::SectionObject& object) {
    PX_ASSIGN(std::string name, name_of(object));
    constexpr std::uint64_t kMost = INT64_MAX;
    const std::uint64_t begin = object.begin_offset(), end = object.end_offset();
    const auto first = static_cast<std::int64_t>(begin);
    const auto size = static_cast<std::int64_t>(end - begin);
    if (begin > end || end > kMost || first < header_end_ ||
        !is_within(first, size, std::ssize(file_)))
      return invalid_model(
          fmt::format("section {} of the LiteRT-LM file lies outside it: bytes {} "
                      "to {} of {}",
                      quote(name), begin, end, file_.size()));
    ranges_.emplace_back(first, first + size);
    const auto bytes =
        file_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    const bool is_model =
        object.data_type() == schema::SectionType::TFLiteModel && is_tflite(bytes);
    sections_.push_back({{std::move(name), type_of(object), size, is_model}, bytes, false});
    return {};
  }

  static std::string type_of(const schema::SectionObject& object) {
    const schema::SectionType type = object.data_type();
    if (type > schema::SectionType::MAX) return fmt::format("type {}", static_cast<unsigned>(type));
    return schema::EnumNameSectionType(type);
  }

  Result<std::string> name_of(const schema::SectionObject& object) {
    std::string name = type_of(object);
    if (object.data_type() == schema::SectionType::TFLiteModel) {
      PX_ASSIGN(const std::string_view type, model_type(object));
      PX_RETURN_IF_ERROR(check_name("a section of the LiteRT-LM file", type));
      if (!type.empty()) name = type;
    }
    if (!names_.insert(name).second) {
      name += fmt::format(" {}", sections_.size());
      names_.insert(name);
    }
    return name;
  }

  /// Returns the text of the item `model_type`; empty if there is no such item.
  Result<std::string_view> model_type(const schema::SectionObject& object) {
    if (object.items() == nullptr) return std::string_view();
    PX_RETURN_IF_ERROR(take(object.items()->size()));
    for (const schema::KeyValuePair* const item : *object.items()) {
      const schema::Text* const value = item->value_as_StringValue();
      if (value == nullptr || text_of(item->key()) != "model_type") continue;
      PX_RETURN_IF_ERROR(take(text_of(value->value()).size()));
      return text_of(value->value());
    }
    return std::string_view();
  }

  Status take(std::size_t amount) {
    if (amount > left_) return invalid_model("sections of the LiteRT-LM file share their items");
    left_ -= amount;
    return {};
  }

  const std::span<const std::byte> file_;
  const std::int64_t header_end_;
  std::size_t left_;
  std::vector<Section> sections_;
  std::vector<ByteRange> ranges_;
  std::set<std::string> names_;
};

}  // namespace

bool is_litertlm(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file.starts_with(kMagic);
}

std::string litertlm_format(std::span<const std::byte> bytes) {
  return fmt::format("LiteRT-LM {}.{}.{}", number_at(bytes, kVersion, 4),
                     number_at(bytes, kVersion + 4, 4), number_at(bytes, kVersion + 8, 4));
}

Result<std::vector<Section>> read_litertlm(std::span<const std::byte> bytes) {
  /// Larger than any header seen, which have a few KiB.
  constexpr std::int64_t kMostHeader = std::int64_t{1} << 20;
  if (bytes.size() < kHeader) return invalid_model("the LiteRT-LM file is cut short");
  const std::int64_t major = number_at(bytes, kVersion, 4);
  if (major != kMajor) {
    return unsupported(fmt::format(
        "the file has version {} of the LiteRT-LM format; {} is supported", major, kMajor));
  }
  const std::int64_t end = number_at(bytes, kHeaderEnd, 8);
  const std::int64_t size = end - static_cast<std::int64_t>(kHeader);
  if (end < 0 || size < 0 || size > kMostHeader || end > std::ssize(bytes))
    return invalid_model("the LiteRT-LM file is cut short, or its header is damaged");
  // Flatbuffers reads scalars in place: the copy is aligned.
  const auto from = bytes.subspan(kHeader, static_cast<std::size_t>(size));
  const std::vector<std::byte> header(from.begin(), from.end());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(header.data()),
                                 header.size(), kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(header.size() / 4));
  if (!schema::VerifyHeaderBuffer(verifier))
    return invalid_model("the header of the LiteRT-LM file is no valid flatbuffer");
  return SectionReader(bytes, header.size()).read(*schema::GetHeader(header.data()));
}

}  // namespace parallax
