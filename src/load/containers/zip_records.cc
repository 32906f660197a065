#include "load/containers/zip_records.h"

#include <algorithm>
#include <initializer_list>

#include "base/status.h"
#include "load/containers/section.h"
#include "load/names.h"

namespace parallax {
namespace {

using Bytes = std::span<const std::byte>;

/// The first four bytes of each record.
constexpr std::int64_t kEndRecord = 0x06054B50, kWideEnd = 0x06064B50, kWidePlace = 0x07064B50,
                       kDirectoryEntry = 0x02014B50, kLocalHeader = 0x04034B50;
/// A 32-bit number that stands in the field for wide ones.
constexpr std::int64_t kWide = 0xFFFFFFFF;

/// Returns the record of that kind at `at`; empty if the bytes end before, or have another there.
Bytes record_at(Bytes bytes, std::int64_t at, std::size_t size, std::int64_t kind) {
  if (!is_within(at, static_cast<std::int64_t>(size), std::ssize(bytes))) return {};
  const Bytes record = bytes.subspan(static_cast<std::size_t>(at), size);
  return number_at(record, 0, 4) == kind ? record : Bytes();
}

/// The numbers of an archive's end. `disks`: those of this file and of the directory, 0.
struct End {
  std::int64_t disks = 0, here = 0, count = 0, size = 0, offset = 0;
};

/// Whether a number of 16 or 32 bits equals the wide one, or says that only that one counts.
bool is_narrow_of(std::int64_t narrow, std::int64_t wide, std::int64_t most) {
  return narrow == wide || narrow == most;
}

/// Returns the place of the last record: its comment takes the rest of the bytes. -1: not found.
std::int64_t find_end(Bytes bytes) {
  constexpr std::int64_t kSize = 22, kLongest = 0xFFFF;
  const std::int64_t last = std::ssize(bytes) - kSize;
  for (std::int64_t at = last; at >= std::max<std::int64_t>(0, last - kLongest); --at) {
    const Bytes record = record_at(bytes, at, kSize, kEndRecord);
    if (!record.empty() && number_at(record, 20, 2) == last - at) return at;
  }
  return -1;
}

End read_end(Bytes record) {
  return {number_at(record, 4, 2) | number_at(record, 6, 2), number_at(record, 8, 2),
          number_at(record, 10, 2), number_at(record, 12, 4), number_at(record, 16, 4)};
}

/// Reads the wide numbers, if a record in front of the end says where they are. `at`: place of the
/// end; becomes that of the first of these records. Returns false if they contradict the end.
bool read_wide_end(Bytes bytes, End& end, std::int64_t& at) {
  constexpr std::int64_t kPlaceSize = 20, kSize = 56, kUncounted = 12;
  const Bytes place = record_at(bytes, at - kPlaceSize, kPlaceSize, kWidePlace);
  if (place.empty()) return true;
  const std::int64_t begin = number_at(place, 8, 8);
  const Bytes record = record_at(bytes, begin, kSize, kWideEnd);
  if (record.empty() || number_at(place, 4, 4) != 0 || number_at(place, 16, 4) > 1) return false;
  if (number_at(record, 4, 8) != at - kPlaceSize - begin - kUncounted) return false;
  const End wide = {number_at(record, 16, 4) | number_at(record, 20, 4), number_at(record, 24, 8),
                    number_at(record, 32, 8), number_at(record, 40, 8), number_at(record, 48, 8)};
  const bool same =
      is_narrow_of(end.here, wide.here, 0xFFFF) && is_narrow_of(end.count, wide.count, 0xFFFF) &&
      is_narrow_of(end.size, wide.size, kWide) && is_narrow_of(end.offset, wide.offset, kWide);
  end = wide;
  at = begin;
  return same;
}

/// Replaces numbers that are kWide by those of the field for wide ones, if there is one. Returns
/// false if the fields are damaged.
bool widen(Bytes fields, std::initializer_list<std::int64_t*> numbers) {
  constexpr std::size_t kHead = 4, kWideSize = 8;
  constexpr std::int64_t kWideField = 1;
  while (fields.size() >= kHead) {
    const std::int64_t id = number_at(fields, 0, 2);
    const auto size = static_cast<std::size_t>(number_at(fields, 2, 2));
    if (size > fields.size() - kHead) return false;
    Bytes field = fields.subspan(kHead, size);
    fields = fields.subspan(kHead + size);
    if (id != kWideField) continue;
    for (std::int64_t* const number : numbers) {
      if (*number != kWide) continue;
      if (field.size() < kWideSize) return false;
      *number = number_at(field, 0, kWideSize);
      if (*number < 0) return false;
      field = field.subspan(kWideSize);
    }
    return true;
  }
  return true;
}

/// Reads the parts that records of both kinds have: numbers from `place` on, and the name and the
/// fields behind the record. Returns the fields; nullopt if the bytes end before.
std::optional<Bytes> read_common(Bytes bytes, Bytes record, std::size_t place, std::int64_t at,
                                 ZipEntry& entry) {
  entry.flags = number_at(record, place, 2);
  entry.method = number_at(record, place + 2, 2);
  entry.crc = number_at(record, place + 8, 4);
  entry.packed = number_at(record, place + 12, 4);
  entry.size = number_at(record, place + 16, 4);
  const std::int64_t name = number_at(record, place + 20, 2),
                     fields = number_at(record, place + 22, 2);
  const std::int64_t begin = at + std::ssize(record);
  if (!is_within(begin, name + fields, std::ssize(bytes))) return std::nullopt;
  const Bytes rest = bytes.subspan(static_cast<std::size_t>(begin));
  entry.name = {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(name)};
  entry.end = begin + name + fields;
  return rest.subspan(static_cast<std::size_t>(name), static_cast<std::size_t>(fields));
}

}  // namespace

Result<ZipDirectory> find_zip_directory(Bytes bytes) {
  std::int64_t at = find_end(bytes);
  if (at < 0) return invalid_model("the ZIP archive is cut short: its end is missing");
  End end = read_end(bytes.subspan(static_cast<std::size_t>(at)));
  const bool same = read_wide_end(bytes, end, at);
  if (end.disks != 0 || end.here != end.count)
    return unsupported("the ZIP archive is one of several files: join them");
  constexpr std::int64_t kEntrySize = 46;
  if (!same || end.count < 0 || !is_within(end.offset, end.size, at) ||
      end.offset + end.size != at || end.count > end.size / kEntrySize)
    return invalid_model("the ZIP archive is damaged: its end contradicts itself");
  return ZipDirectory{end.offset, end.size, end.count};
}

std::optional<ZipEntry> read_zip_entry(Bytes bytes, std::int64_t at) {
  const Bytes record = record_at(bytes, at, 46, kDirectoryEntry);
  if (record.empty()) return std::nullopt;
  ZipEntry entry;
  const auto fields = read_common(bytes, record, 8, at, entry);
  const std::int64_t comment = number_at(record, 32, 2);
  entry.disk = number_at(record, 34, 2);
  entry.offset = number_at(record, 42, 4);
  if (!fields || !widen(*fields, {&entry.size, &entry.packed, &entry.offset})) return std::nullopt;
  if (!is_within(entry.end, comment, std::ssize(bytes))) return std::nullopt;
  entry.end += comment;
  return entry;
}

std::optional<ZipEntry> read_zip_local(Bytes bytes, std::int64_t at) {
  const Bytes record = record_at(bytes, at, 30, kLocalHeader);
  if (record.empty()) return std::nullopt;
  ZipEntry entry;
  const auto fields = read_common(bytes, record, 6, at, entry);
  if (!fields || !widen(*fields, {&entry.size, &entry.packed})) return std::nullopt;
  return entry;
}

}  // namespace parallax
