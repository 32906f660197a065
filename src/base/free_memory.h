// How many bytes this process could still take. Thread-safety: a pure function over the system's
// state, which may change right after.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace parallax {

/// The least of: the system's available memory, what each control group above this process still
/// grants (idle page cache counts as free), and what RLIMIT_AS leaves of the address space. In
/// bytes, >= 0; nothing where none of these can be read. Paths are read below `root`.
std::optional<std::int64_t> free_memory(const std::filesystem::path& root = "/");

}  // namespace parallax
