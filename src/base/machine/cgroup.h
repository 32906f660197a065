// Where the control groups of this process are, in whatever layout the system mounts them: version
// 1, version 2 or both, with or without a container around. All paths are read below `root`, which
// is "/" except in tests. Thread-safety: pure functions over the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parallax {

/// A group that limits this process: its own or an ancestor of it.
struct Cgroup {
  std::filesystem::path folder;
  int version = 2;
};

/// The groups of `controller` ("cpu", "memory"), innermost first per hierarchy. Empty where there
/// are none.
std::vector<Cgroup> cgroups(const std::filesystem::path& root, std::string_view controller);

/// Contents of a file of /proc or /sys, nothing where it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);
/// The first integer of such a file; nothing for "max" and other words.
std::optional<std::int64_t> read_integer(const std::filesystem::path& path);
/// The integer behind the word `key` at the start of a line, as in /proc/meminfo and memory.stat.
std::optional<std::int64_t> integer_of_key(std::string_view text, std::string_view key);

}  // namespace parallax
