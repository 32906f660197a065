#include "load/containers/zip.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/status.h"
#include "load/containers/zip_records.h"
#include "load/names.h"
#include "load/tflite/tflite_file.h"

namespace parallax {
namespace {

/// Bits of an entry's flags.
constexpr std::int64_t kEncrypted = 0x2041;  ///< encrypted, strongly encrypted, masked header
constexpr std::int64_t kSizesBehind = 0x8;   ///< sizes and checksum stand behind the bytes
constexpr std::int64_t kStored = 0;          ///< the method without compression

Status check_entry(const ZipEntry& entry) {
  PX_RETURN_IF_ERROR(check_name("an entry of the ZIP archive", entry.name));
  const auto label = [&] { return fmt::format("entry {} of the ZIP archive", quote(entry.name)); };
  if (entry.name.empty()) return invalid_model("an entry of the ZIP archive has no name");
  if ((entry.flags & kEncrypted) != 0) return unsupported(label() + " is encrypted");
  if (entry.disk != 0) return unsupported(label() + " is in another file");
  if (entry.method == kStored && entry.packed != entry.size)
    return invalid_model(label() + " is stored but has two sizes");
  return {};
}

/// Whether the header in front of the bytes says the same as the directory.
bool agrees(const ZipEntry& local, const ZipEntry& entry) {
  if (local.name != entry.name || local.flags != entry.flags || local.method != entry.method)
    return false;
  if ((entry.flags & kSizesBehind) != 0 && local.packed == 0 && local.size == 0 && local.crc == 0)
    return true;
  return local.packed == entry.packed && local.size == entry.size && local.crc == entry.crc;
}

Section section_of(const ZipEntry& entry, std::span<const std::byte> bytes) {
  Section section{{std::string(entry.name), "file", std::ssize(bytes), false}, bytes, false};
  if (entry.method != kStored) {
    section.compressed = true;
    section.shown.type = "compressed file";
  } else if (entry.name.ends_with('/') && bytes.empty()) {
    section.shown.type = "folder";
  } else if (is_tflite(bytes)) {
    section.shown.type = "TFLiteModel";
    section.shown.is_model = true;
  } else if (is_zip(bytes)) {
    section.shown.type = "ZIP archive";
  }
  return section;
}

}  // namespace

bool is_zip(std::span<const std::byte> bytes) {
  constexpr std::size_t kMostZeros = 4;
  constexpr std::string_view kEntry("PK\x03\x04"), kEmpty("PK\x05\x06");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kEmpty)) return true;
  const std::size_t begin = text.substr(0, kMostZeros + 1).find_first_not_of('\0');
  return begin != std::string_view::npos && text.substr(begin).starts_with(kEntry);
}

Result<std::vector<Section>> read_zip(std::span<const std::byte> bytes) {
  PX_ASSIGN(const ZipDirectory directory, find_zip_directory(bytes));
  std::vector<Section> sections;
  std::vector<ByteRange> ranges;
  std::int64_t at = directory.offset;
  const std::int64_t end = directory.offset + directory.size;
  for (std::int64_t i = 0; i < directory.count; ++i) {
    const auto entry = read_zip_entry(bytes.first(static_cast<std::size_t>(end)), at);
    if (!entry) return invalid_model("the directory of the ZIP archive is damaged");
    PX_RETURN_IF_ERROR(check_entry(*entry));
    at = entry->end;
    const auto local =
        read_zip_local(bytes.first(static_cast<std::size_t>(directory.offset)), entry->offset);
    if (!local || !agrees(*local, *entry) ||
        !is_within(local->end, entry->packed, directory.offset))
      return invalid_model(fmt::format(
          "entry {} of the ZIP archive is not where its directory says", quote(entry->name)));
    ranges.emplace_back(entry->offset, local->end + entry->packed);
    sections.push_back(section_of(*entry, bytes.subspan(static_cast<std::size_t>(local->end),
                                                        static_cast<std::size_t>(entry->packed))));
  }
  if (at != end) return invalid_model("the directory of the ZIP archive is damaged");
  if (overlap(std::move(ranges))) return invalid_model("entries of the ZIP archive overlap");
  return sections;
}

}  // namespace parallax
