// Elements of small tensors whose type is known only while running: of constants that passes,
// splits of operators and compile() make of contents that they know. Thread-safe, but two threads
// must not write elements that share a byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/elements.h"

namespace parallax {

/// Writes `value` as element `i`, in a type of kSizedTypes (parallax/dtype.h). Integers get its low
/// bits, bools 1 if it is not 0, floats `value`, rounded by the rules of write_elements()
/// (parallax/elements.h). Kernels have loops of their own.
inline void store_integer(DType dtype, std::int64_t value, std::byte* bytes, std::size_t i) {
  write_element(dtype, value, bytes, static_cast<std::int64_t>(i));
}

}  // namespace parallax
