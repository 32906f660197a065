// The records of a ZIP archive: the end of its directory, entries of the directory, and the headers
// in front of entries. Sizes that do not fit 32 bits stand in further fields ("ZIP64").
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "parallax/result.h"

namespace parallax {

/// The place of a directory, whose bytes end where the records of its end begin.
struct ZipDirectory {
  std::int64_t offset = 0, size = 0;  ///< bytes
  std::int64_t count = 0;             ///< number of entries; each needs 46 bytes of the directory
};
/// Finds the directory. Errors, of stage kLoad: kInvalidModel if the archive is cut short or
/// its end contradicts itself; kUnsupported if it is one of several files.
Result<ZipDirectory> find_zip_directory(std::span<const std::byte> bytes);

/// One entry as a record says. All numbers are >= 0.
struct ZipEntry {
  std::string_view name;  ///< any bytes, a part of the archive
  std::int64_t flags = 0, method = 0, crc = 0, disk = 0;
  std::int64_t packed = 0, size = 0;  ///< bytes in the archive, and of the file itself
  std::int64_t offset = 0;            ///< place of the header in front of the bytes
  std::int64_t end = 0;               ///< place behind this record
};
/// Reads the entry of the directory at `at`, >= 0; nullopt if no whole record is there.
std::optional<ZipEntry> read_zip_entry(std::span<const std::byte> bytes, std::int64_t at);
/// Reads the header in front of an entry's bytes, which begin at `end`. As above; `disk` and
/// `offset` are 0.
std::optional<ZipEntry> read_zip_local(std::span<const std::byte> bytes, std::int64_t at);

}  // namespace parallax
