// Puts a file in the place of another, whole or not at all.
// Thread-safety: pure functions over files; writers in several processes exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "parallax/result.h"

namespace parallax {

inline constexpr std::int64_t kSecond = 1'000'000'000;  ///< in nanoseconds

/// A time of modification, in seconds, that no later write gives a file: a little in the past and
/// whole, as some file systems count seconds only.
std::int64_t seal_time();

/// Writes `parts` one after the other to PATH.tmp, which is readable by this user only, sets its
/// time of modification to `modified` (seconds), flushes it to the disk and renames it. Then nobody
/// may write to it any more. A file that had the name before is not touched: who maps it keeps it.
/// Makes the folder where there is none. True; false where another process is writing the same
/// file. Errors: kIo; the old file stays then.
Result<bool> replace_file(const std::filesystem::path& path,
                          std::span<const std::span<const std::byte>> parts, std::int64_t modified);

}  // namespace parallax
