// Writes small containers for tests: ZIP archives of stored entries, and LiteRT-LM files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/containers/litertlm_schema.h"

namespace parallax {

/// One entry. Fields without a value follow from the bytes.
struct ZipFile {
  std::string name = {}, bytes = {};
  std::uint16_t flags = 0, method = 0;
  std::size_t padding = 0;    ///< zeros in front of the entry
  bool wide = false;          ///< sizes and offset stand in the fields for wide numbers
  bool sizes_behind = false;  ///< zeros in front of the bytes, and the sizes behind them
  std::optional<std::uint32_t> offset = {};          ///< that the directory says
  std::optional<std::string> local_name = {};        ///< in front of the bytes
  std::optional<std::uint32_t> directory_size = {};  ///< size of the file, as the directory says
};

/// Returns the bytes of a number, lowest first.
template <class T>
std::string little(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * i));
  return bytes;
}

/// Writes an archive.
class ZipWriter {
 public:
  /// `wide`: whether the end has wide numbers. To be called once.
  std::string bytes(const std::vector<ZipFile>& files, bool wide = false,
                    const std::string& comment = {}) {
    for (const ZipFile& file : files) add(file);
    const std::size_t begin = out_.size();
    out_ += directory_;
    const std::size_t count = files.size(), size = directory_.size();
    if (wide) {
      const std::size_t end = out_.size();
      out_ += "PK\x06\x06" + little<std::uint64_t>(44) + little<std::uint32_t>(0x2D002D) +
              little<std::uint64_t>(0) + little<std::uint64_t>(count) +
              little<std::uint64_t>(count) + little<std::uint64_t>(size) +
              little<std::uint64_t>(begin);
      out_ += "PK\x06\x07" + little<std::uint32_t>(0) + little<std::uint64_t>(end) +
              little<std::uint32_t>(1);
    }
    const auto short_count = static_cast<std::uint16_t>(wide ? 0xFFFF : count);
    out_ += "PK\x05\x06" + little<std::uint32_t>(0) + little(short_count) + little(short_count) +
            little(static_cast<std::uint32_t>(wide ? 0xFFFFFFFF : size)) +
            little(static_cast<std::uint32_t>(wide ? 0xFFFFFFFF : begin)) +
            little(static_cast<std::uint16_t>(comment.size())) + comment;
    return out_;
  }

 private:
  static constexpr std::uint32_t kCrc = 0x12345678;  ///< readers compute no checksum

  /// Versions, flags, method, time, checksum and sizes, which both records have.
  static std::string common(const ZipFile& file, std::uint64_t packed, std::uint64_t size,
                            std::uint32_t crc) {
    const auto flags = static_cast<std::uint16_t>(file.flags | (file.sizes_behind ? 8 : 0));
    const auto number = [&](std::uint64_t of) {
      return little(static_cast<std::uint32_t>(file.wide ? 0xFFFFFFFF : of));
    };
    return little<std::uint16_t>(45) + little(flags) + little(file.method) +
           little<std::uint32_t>(0) + little(crc) + number(packed) + number(size);
  }
  static std::string wide_field(const std::vector<std::uint64_t>& numbers) {
    std::string field = "\x01";
    field.push_back('\0');
    field += little(static_cast<std::uint16_t>(8 * numbers.size()));
    for (const std::uint64_t number : numbers) field += little(number);
    return field;
  }
  static std::string lengths(const std::string& name, const std::string& fields) {
    return little(static_cast<std::uint16_t>(name.size())) +
           little(static_cast<std::uint16_t>(fields.size()));
  }

  void add(const ZipFile& file) {
    out_ += std::string(file.padding, '\0');
    const std::uint64_t offset = file.offset.value_or(static_cast<std::uint32_t>(out_.size()));
    const std::uint64_t packed = file.bytes.size(), size = file.directory_size.value_or(packed);
    const std::uint64_t shown = file.sizes_behind ? 0 : packed;
    const std::string name = file.local_name.value_or(file.name);
    const std::string local = file.wide ? wide_field({shown, shown}) : "";
    out_ += "PK\x03\x04" + common(file, shown, shown, file.sizes_behind ? 0 : kCrc) +
            lengths(name, local) + name + local + file.bytes;
    if (file.sizes_behind) out_ += "PK\x07\x08" + little(kCrc) + little(packed);
    const std::string fields = file.wide ? wide_field({size, packed, offset}) : "";
    directory_ += "PK\x01\x02" + little<std::uint16_t>(45) + common(file, packed, size, kCrc) +
                  lengths(file.name, fields) + little<std::uint64_t>(0) + little<std::uint16_t>(0) +
                  little(static_cast<std::uint32_t>(file.wide ? 0xFFFFFFFF : offset)) + file.name +
                  fields;
  }

  std::string out_, directory_;
};

/// Returns an archive of stored entries.
inline std::string zip_bytes(const std::vector<ZipFile>& files, bool wide = false,
                             const std::string& comment = {}) {
  return ZipWriter().bytes(files, wide, comment);
}

using LitertlmType = litertlm_schema::SectionType;

/// One section of a LiteRT-LM file.
struct LitertlmSection {
  LitertlmType type = LitertlmType::TFLiteModel;
  std::string bytes = {};
  std::string model_type = {};  ///< "": no such item
  std::int64_t moved = 0;       ///< added to both offsets that the header says
};

/// Returns a file whose sections begin at multiples of 1 KiB.
inline std::string litertlm_bytes(const std::vector<LitertlmSection>& sections,
                                  std::uint32_t major = 1) {
  constexpr std::size_t kBlock = 1024;
  namespace schema = litertlm_schema;
  flatbuffers::FlatBufferBuilder to;
  std::vector<flatbuffers::Offset<schema::SectionObject>> objects;
  std::string body;
  for (const LitertlmSection& section : sections) {
    std::vector<flatbuffers::Offset<schema::KeyValuePair>> items;
    if (!section.model_type.empty()) {
      const auto number = schema::CreateNumber(to);
      items.push_back(
          schema::CreateKeyValuePairDirect(to, "model_type", schema::Value::UInt8, number.Union()));
      const auto text = schema::CreateTextDirect(to, section.model_type.c_str());
      items.push_back(schema::CreateKeyValuePairDirect(to, "model_type", schema::Value::StringValue,
                                                       text.Union()));
    }
    const auto begin = static_cast<std::int64_t>(kBlock + body.size()) + section.moved;
    const auto end = begin + static_cast<std::int64_t>(section.bytes.size());
    objects.push_back(schema::CreateSectionObjectDirect(
        to, items.empty() ? nullptr : &items, static_cast<std::uint64_t>(begin),
        static_cast<std::uint64_t>(end), section.type));
    body += section.bytes;
    body.resize((body.size() + kBlock - 1) / kBlock * kBlock);
  }
  to.Finish(schema::CreateHeader(to, 0, schema::CreateSectionMetadataDirect(to, &objects)));
  const std::string header(reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize());
  std::string file = "LITERTLM" + little(major) + little<std::uint32_t>(4) +
                     little<std::uint64_t>(0) + little<std::uint64_t>(32 + header.size()) + header;
  file.resize(kBlock);
  return file + body;
}

}  // namespace parallax
