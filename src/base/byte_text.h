// Amounts of memory in messages. Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <string>

namespace parallax {

/// "1000 bytes", "123456789 bytes (117.7 MiB)": exact, and as a person compares it.
std::string byte_text(std::int64_t bytes);

}  // namespace parallax
