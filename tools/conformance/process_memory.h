// Memory that this process uses. Thread-safe.
#pragma once

#include <cstdint>

namespace parallax::conformance {

/// Bytes that are resident, after what is free was given back to the system; 0 where the system
/// does not say.
std::int64_t resident_bytes();

}  // namespace parallax::conformance
