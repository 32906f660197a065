// What a cache file holds of a loaded model besides packed weights: bytes that somebody else
// understands (the graph behind the passes), with the files that they were made from and the
// constants that lie in no file. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/shared_bytes.h"
#include "cache/hash.h"

namespace parallax {

struct Snapshot {
  SharedBytes bytes;
  std::vector<NamedFile> files;  ///< besides the model's
  std::vector<SharedBytes> constants;
};

/// A snapshot as one block of a file: its bytes, and the others by the hash of their contents.
struct SnapshotRecord {
  struct Constant {
    Hash128 content;
    std::uint64_t bytes = 0;
  };
  std::vector<std::pair<std::string, Hash128>> files;
  std::vector<Constant> constants;
  std::span<const std::byte> bytes;
};
std::vector<std::byte> write_record(const SnapshotRecord& record);
/// `bytes` point into `block`. Nothing for what is damaged: a checksum tells.
std::optional<SnapshotRecord> read_record(std::span<const std::byte> block);

}  // namespace parallax
