// Finds the control groups of this process, in whatever layout the system mounts them: version 1,
// version 2 or both, with or without a container. cgroups() reads below `root`, which is "/" except
// in tests; the other functions take a path, or text, as it is. Thread-safety: pure functions over
// the file system.
//
// Used in base/machine: by cpu_quota(), MemoryProbe and cpu_caches(). Reads /proc/self/mountinfo
// and /proc/self/cgroup. Each call reads the files again. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parallax {

/// A group that limits this process: its own group or an ancestor.
struct Cgroup {
  std::filesystem::path folder;  ///< with the files of the group; begins with `root`
  int version = 2;               ///< 1 or 2; they name their files differently
};

/// Returns the groups of `controller` ("cpu", "memory"), innermost first per hierarchy. Groups of
/// version 2 are included even if they do not have the controller. Empty if there are none. A mount
/// that does not show this process's group contributes its top group only, as in a container that
/// sees only its own.
std::vector<Cgroup> cgroups(const std::filesystem::path& root, std::string_view controller);

/// Returns the contents of a file of /proc or /sys, cut after 16 MiB; nullopt if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);
/// Returns the integer at the start of such a file: 20 for "20 100", 32 for "32K". Suffixes are not
/// interpreted; blanks and tabs in front are skipped. nullopt if the file cannot be read or does
/// not start with an integer of 64 bits: "max", "max 100".
std::optional<std::int64_t> read_integer(const std::filesystem::path& path);
/// Returns the integer after the word `key` and blanks or tabs at the start of a line, as in
/// memory.stat; nullopt if no line begins so, or no integer of 64 bits follows. In /proc/meminfo
/// the key has the colon, as in "MemAvailable:".
std::optional<std::int64_t> integer_of_key(std::string_view text, std::string_view key);

}  // namespace parallax
