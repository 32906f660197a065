// A file of byte blocks that are found by a hash: what it holds, how it is read through a memory
// map and how it is replaced as a whole. Knows nothing of weights.
//
// Nothing in a file is believed: sizes are checked, and checksums tell damage. Whoever may write
// into the folder can still make a file that passes, so the folder is as trusted as the models.
// Thread-safety: pure functions over files; writers in several processes exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "cache/hash.h"
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
  std::string version;  ///< of whatever decides the bytes of a block
  std::vector<SourceFile> sources;
  std::vector<Block> blocks;  ///< bytes begin at multiples of kAlignment in the file
};

/// The blocks point into `file`. The checksums of the blocks are read only where the file was
/// written to since write_block_file made it: that costs as much as reading it, 15 ms for 170 MB
/// (Zen 4, page cache). Errors: kInvalidInput for what is torn, damaged or no such file.
Result<BlockFile> read_block_file(const MappedFile& file);

/// Puts `contents` in the place of `path`, all of it or nothing: it is written beside, flushed to
/// the disk and renamed. True; false where another process is doing the same. Errors: kIo.
Result<bool> write_block_file(const std::filesystem::path& path, const BlockFile& contents);

}  // namespace parallax
