// Compiled programs on disk, by device, driver and source: building one takes the better part of a
// second, reading it tens of milliseconds. A file is not trusted: a checksum reveals damage, and
// the driver refuses what is not its own. A user who can write into the folder can make programs,
// so trust the folder as far as this program. Thread-safety: pure functions over files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace parallax::opencl {

/// The file of the program in `folder`.
std::filesystem::path program_file(const std::filesystem::path& folder, std::string_view device,
                                   std::string_view source);
/// Nothing where there is none, or a damaged one.
std::optional<std::vector<std::byte>> read_program(const std::filesystem::path& file);
/// Does nothing where it cannot be written: the next process builds it again.
void write_program(const std::filesystem::path& file, std::span<const std::byte> binary);

}  // namespace parallax::opencl
