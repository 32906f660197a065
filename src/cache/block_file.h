// A file of byte blocks, each found by a hash: read through a memory map and replaced as a whole.
// Knows nothing of weights.
//
// A file is not trusted: sizes are checked, and checksums reveal damage. A user who can write into
// the folder can still make a file that passes, so trust the folder as far as the models.
// Thread-safety: pure functions over files; writers in several processes exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "parallax/result.h"

namespace parallax {

/// A file that blocks were made from, with the hash of its contents.
struct SourceFile {
  FileIdentity identity;
  Hash128 content;
};

struct Block {
  Hash128 key;
  std::span<const std::byte> bytes;
};

struct BlockFile {
  std::string version;  ///< of the code that decides the bytes of a block
  std::vector<SourceFile> sources;
  std::vector<Block> blocks;  ///< bytes begin at multiples of kAlignment in the file
};

/// The blocks point into `file`. Their checksums are compared only if the file was written to since
/// write_block_file made it: that takes as long as reading it, 15 ms for 170 MB (Zen 4, page
/// cache). Errors: kInvalidInput for a file that is truncated, damaged or of another kind.
Result<BlockFile> read_block_file(const MappedFile& file);

/// Replaces the file at `path` by `contents`, as a whole or not at all: writes a second file,
/// flushes it to the disk and renames it. False if another process is doing the same. Errors: kIo.
Result<bool> write_block_file(const std::filesystem::path& path, const BlockFile& contents);

}  // namespace parallax
