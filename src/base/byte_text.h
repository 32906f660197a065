// Formats amounts of memory for messages. Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <string>

namespace parallax {

/// Returns "1000 bytes", or from 1024 bytes on "123456789 bytes (117.7 MiB)": the exact number and
/// one that people can compare. KiB below 1 MiB, MiB from there on, with one decimal. REQUIRES:
/// bytes >= 0.
std::string byte_text(std::int64_t bytes);

}  // namespace parallax
