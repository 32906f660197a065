// A snapshot of a loaded model: the graph after the passes, as bytes that cache/ does not
// interpret, with the files from which it was made and the constants that are in no file.
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

/// The bytes of a graph, and everything that they refer to. `constants` are those that passes
/// computed; the others are named by file and offset.
struct Snapshot {
  SharedBytes bytes;
  std::vector<NamedFile> files;        ///< files other than the model's main file
  std::vector<SharedBytes> constants;  ///< referred to by index
};

/// A snapshot as one block of a file: identifies files and constants by the hash of their contents.
struct SnapshotRecord {
  struct Constant {
    Hash128 content;
    std::uint64_t bytes = 0;
  };
  std::vector<std::pair<std::string, Hash128>> files;  ///< name, hash of the contents
  std::vector<Constant> constants;
  std::span<const std::byte> bytes;  ///< bytes of the graph
};
/// Encodes a record, with a checksum.
std::vector<std::byte> write_record(const SnapshotRecord& record);
/// Decodes a record; `bytes` point into `block`. nullopt if the checksum shows damage. Counts are
/// bounded by the size of the block, so that damage costs no memory. Names are copied.
std::optional<SnapshotRecord> read_record(std::span<const std::byte> block);

}  // namespace parallax
