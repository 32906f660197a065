// Replaces a file by another, as a whole or not at all.
// Thread-safety: pure functions over files; writers in several processes exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "parallax/result.h"

namespace parallax {

inline constexpr std::int64_t kSecond = 1'000'000'000;  ///< in nanoseconds

/// A time of modification, in seconds, that no later write gives a file: a little in the past, and
/// in whole seconds because some file systems keep no fraction.
std::int64_t seal_time();

/// Writes `parts` one after the other to PATH.tmp, which only this user can read, sets its time of
/// modification to `modified` (seconds), makes it read-only, flushes it to the disk and renames it.
/// Processes that map the old file keep it. Creates a missing folder. False if another process is
/// writing the same file. Errors: kIo; the old file then stays.
Result<bool> replace_file(const std::filesystem::path& path,
                          std::span<const std::span<const std::byte>> parts, std::int64_t modified);

}  // namespace parallax
