// Compiled programs on disk, by device, driver and source: building one needs up to a second,
// reading it tens of milliseconds. A file is not trusted: a checksum reveals damage, and the driver
// rejects programs of others. A user who can write into the folder can make programs, so give the
// folder the trust that this program has. Thread-safety: pure functions over files. A file has a
// checksum of 16 bytes, then the binary. tuner.h keeps tunings in the same form.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace parallax::opencl {

/// Returns the path of the program's file in `folder`. `device`: ClDevice::fingerprint(). The name
/// is a hash of both texts, "opencl-HASH.bin". The build options must be part of `source`.
std::filesystem::path program_file(const std::filesystem::path& folder, std::string_view device,
                                   std::string_view source);
/// Returns the program; nullopt if the file is missing or damaged. The bytes are a copy: the file
/// may change afterwards. Damaged means that the checksum differs.
std::optional<std::vector<std::byte>> read_program(const std::filesystem::path& file);
/// Writes the program. Failures are ignored: the next process builds it again. Replaces the file as
/// a whole, so readers never see a part of it.
void write_program(const std::filesystem::path& file, std::span<const std::byte> binary);

}  // namespace parallax::opencl
