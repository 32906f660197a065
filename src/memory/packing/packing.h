// The packing problem (dynamic storage allocation): find offsets for buffers of fixed lifetimes and
// sizes, so that no two that live at once overlap and the memory that holds them all is small.
//
// A library of its own: it knows nothing of graphs or plans. Times are any ordered numbers; a
// buffer lives in [begin, end). Pure functions, safe to call from any thread; the same input and
// the same limit in steps give the same offsets.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parallax/result.h"

namespace parallax {

struct PackingBuffer {
  std::int64_t begin = 0;  ///< first moment of its life
  std::int64_t end = 0;    ///< first moment after it; equal to `begin`: never lives, at offset zero
  std::int64_t bytes = 0;
};

struct Packing {
  std::vector<std::int64_t> offset;  ///< one per buffer
  std::int64_t height = 0;           ///< the largest offset + bytes of a buffer that lives
  std::int64_t lower_bound = 0;      ///< most bytes live at once; `height` cannot be less
};

/// How long to improve a packing. A step looks at one buffer once; a million steps take very
/// roughly a twentieth of a second.
struct PackingLimit {
  std::int64_t steps = 500'000;
  std::function<bool()> stop;  ///< called now and then; true ends the search. Empty: never
};

/// Offsets of small height: the least if height equals lower_bound, else the best found within the
/// limit. There is always a packing: the first one takes O(n log n), whatever the limit.
/// Errors (kInternal): a negative size, an end before its begin, bytes that together exceed
/// 61 bits.
Result<Packing> pack(std::span<const PackingBuffer> buffers, const PackingLimit& limit);

/// Error (kInternal, names the buffers) if two buffers that live at once overlap, or one lies below
/// zero or beyond the height.
Status check_packing(std::span<const PackingBuffer> buffers, const Packing& packing);

}  // namespace parallax
