// A snapshot of a loaded model: the graph behind the passes as bytes that cache/ does not
// interpret, with the files that it was made from and the constants that lie in no file.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "base/shared_bytes.h"

namespace parallax {

struct Snapshot {
  SharedBytes bytes;
  std::vector<NamedFile> files;  ///< besides the model's main file
  std::vector<SharedBytes> constants;
};

/// A snapshot as one block of a file: files and constants by the hash of their contents.
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
/// `bytes` point into `block`. Nothing if the checksum shows damage.
std::optional<SnapshotRecord> read_record(std::span<const std::byte> block);

}  // namespace parallax
