// The records of a ZIP archive: the end of its directory, entries of the directory, and the headers
// in front of entries. Sizes that do not fit 32 bits stand in further fields ("ZIP64").
// Thread-safety: pure functions.
//
// Layout as PKWARE's APPNOTE.TXT has it: end of the central directory (22 bytes and a comment of at
// most 65,535), ZIP64 end (56) with its locator (20), directory entry (46), local header (30). All
// numbers are little-endian. Each function reads only the records named here and bounds every
// access by the span that it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "parallax/result.h"

namespace parallax {

/// The place of a directory, whose bytes end where the records of its end begin.
/// find_zip_directory() has checked that the whole directory lies inside the archive.
struct ZipDirectory {
  std::int64_t offset = 0, size = 0;  ///< bytes
  std::int64_t count = 0;             ///< number of entries; each needs 46 bytes of the directory
};
/// Finds the directory. Errors, of stage kLoad: kInvalidModel if the archive is cut short or
/// its end contradicts itself; kUnsupported if it is one of several files. The end is looked for
/// backwards, over at most 65,557 bytes; its comment must reach exactly to the end of the archive.
/// Bytes behind the archive are therefore refused. Offsets count from the first byte of the span.
Result<ZipDirectory> find_zip_directory(std::span<const std::byte> bytes);

/// One entry as a record says. All numbers are >= 0. `flags` and `method` are those of the record:
/// bit 0 of `flags` says encrypted, method 0 says stored. `crc` is not compared with the bytes.
/// `disk` is 0 in an archive of one file.
struct ZipEntry {
  std::string_view name;  ///< any bytes, a part of the archive
  std::int64_t flags = 0, method = 0, crc = 0, disk = 0;
  std::int64_t packed = 0, size = 0;  ///< bytes in the archive, and of the file itself
  std::int64_t offset = 0;            ///< place of the header in front of the bytes
  std::int64_t end = 0;               ///< place behind this record
};
/// Reads the entry of the directory at `at`, >= 0; nullopt if no whole record is there. Sizes and
/// offset come from the ZIP64 field if the record says so; nullopt also if that field is cut short
/// or its numbers exceed 63 bits. `bytes` is the archive from its first byte up to the end of the
/// directory.
std::optional<ZipEntry> read_zip_entry(std::span<const std::byte> bytes, std::int64_t at);
/// Reads the header in front of an entry's bytes, which begin at `end`. As above; `disk` and
/// `offset` are 0. `bytes` is the archive up to its directory. The caller compares the result with
/// the directory's entry: headers of an archive may lie.
std::optional<ZipEntry> read_zip_local(std::span<const std::byte> bytes, std::int64_t at);

}  // namespace parallax
