// A file of byte blocks, each identified by a hash: read through a memory map and replaced
// atomically. Independent of the meaning of blocks.
//
// Files are not trusted: sizes are checked, and checksums reveal damage. A user who can write into
// the folder can still make a file that passes: let others not write there.
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

/// A file from which blocks were made, with the hash of its contents (hash128()).
struct SourceFile {
  FileIdentity identity;
  Hash128 content;
};

/// A block of bytes with the key by which it is found.
struct Block {
  Hash128 key;
  std::span<const std::byte> bytes;
};

/// The contents of a file. `bytes` are not interpreted here.
struct BlockFile {
  std::string version;  ///< version of the code that determines the bytes of a block
  std::vector<SourceFile> sources;
  std::vector<Block> blocks;  ///< bytes begin at multiples of kAlignment in the file
};

/// Reads a file; the blocks point into `file`, which must outlive them. Compares checksums of
/// blocks only if the file was written to after write_block_file made it: that needs as long as
/// reading it, 15 ms for 170 MB (Zen 4, page cache). Errors: kInvalidInput if the file is
/// truncated, damaged or of another kind.
Result<BlockFile> read_block_file(const MappedFile& file);

/// Replaces the file at `path` by `contents` atomically: writes a second file, flushes it to the
/// disk and renames it. Returns false if another process is doing the same. Errors: kIo. The spans
/// in `contents` may point into the old file's map, which stays readable. Missing folders are
/// created. After an error the old file remains.
Result<bool> write_block_file(const std::filesystem::path& path, const BlockFile& contents);

}  // namespace parallax
