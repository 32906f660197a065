// Elements of small tensors whose type is known only while running. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "parallax/dtype.h"

namespace parallax {

/// Writes `value` as element `i`, in a type of kComputedTypes; as a bool, whether it is not 0.
inline void store_integer(DType dtype, std::int64_t value, std::byte* bytes, std::size_t i) {
  dispatch<kComputedTypes>(dtype, [&](auto type) {
    const auto element = static_cast<typename decltype(type)::type>(value);
    std::memcpy(bytes + i * sizeof element, &element, sizeof element);
  });
}

}  // namespace parallax
