// Replaces a file atomically. Thread-safety: pure functions over files; writers in several
// processes exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "parallax/result.h"

namespace parallax {

inline constexpr std::int64_t kSecond = 1'000'000'000;  ///< in nanoseconds

/// Returns a time of modification, in seconds since 1970, that no later write gives a file:
/// slightly in the past, and in whole seconds because some file systems store no fraction. Two
/// seconds in the past. A file of the weight cache states it inside: with that time of modification
/// it was not written since.
std::int64_t seal_time();

/// Writes the concatenated `parts` to PATH.tmp, which only this user can read, sets its time of
/// modification to `modified` (seconds), makes it read-only, flushes it to the disk and renames it
/// to `path`. Processes that have mapped the old file keep it. Creates missing folders. Returns
/// false if another process is writing the same file. Errors: kIo; the old file remains then. False
/// also if the partial file was replaced meanwhile. PATH.tmp of a writer that was killed is
/// overwritten; a link there, or a file with several names, is refused (kIo), since another user
/// could choose what is overwritten. A limit on file sizes gives kIo instead of a signal. An error
/// removes PATH.tmp. Stage kFiles.
Result<bool> replace_file(const std::filesystem::path& path,
                          std::span<const std::span<const std::byte>> parts, std::int64_t modified);

}  // namespace parallax
