// The packing problem (dynamic storage allocation): find offsets for buffers of fixed lifetimes and
// sizes, such that buffers that live at the same time do not overlap and the total memory is small.
//
// An independent library: it knows nothing of graphs or plans. Times are arbitrary ordered numbers;
// a buffer lives in [begin, end). Thread-safety: pure functions; the same input and the same limit
// in steps give the same offsets. plan_steps() calls it, with sizes in units of kAlignment. Offsets
// have the unit of the sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parallax/result.h"

namespace parallax {

/// A buffer to be packed.
struct PackingBuffer {
  std::int64_t begin = 0;  ///< first moment of its life
  std::int64_t end = 0;    ///< first moment after it; equal to `begin`: never lives, has offset
                           ///< zero
  /// At least 0; a buffer of 0 bytes has offset zero and may share it with any other.
  std::int64_t bytes = 0;
};

/// A packing and its quality.
struct Packing {
  std::vector<std::int64_t> offset;  ///< one per buffer
  std::int64_t height = 0;           ///< the largest offset + bytes of a buffer that lives
  /// Maximum of bytes live at the same time; `height` cannot be less. An exact search that proves a
  /// height impossible raises it, so it may exceed that maximum.
  std::int64_t lower_bound = 0;
};

/// The effort for improving a packing. A step inspects one buffer once; a million steps need very
/// roughly a twentieth of a second.
struct PackingLimit {
  /// Total steps of all searches. 0 or less: only the first packing is made.
  std::int64_t steps = 500'000;
  /// Called from time to time; true ends the search. Empty: never. Called on the thread of pack(),
  /// about once per 1000 steps.
  std::function<bool()> stop;
};

/// Returns offsets of small height: the minimum if height equals lower_bound, otherwise the best
/// found within the limit. There is always a result: the first packing needs O(n log n), whatever
/// the limit. Errors (kInternal): a negative size, an end before its begin, sizes that together
/// exceed 61 bits. Equality proves the minimum; a height above lower_bound may be minimal as well.
/// The effort goes to the component that is the highest at the moment, because the others do not
/// matter to the total. `stop` makes the result depend on time; the limit in steps does not. All
/// errors have stage kMemory.
Result<Packing> pack(std::span<const PackingBuffer> buffers, const PackingLimit& limit);

/// Errors: kInternal, with the names of the buffers, if two buffers that live at the same time
/// overlap, or one is below zero or beyond the height. Checks the buffers first, with the errors of
/// pack(). The buffers of a message are named by their index. Does not check lower_bound. O(n log
/// n).
Status check_packing(std::span<const PackingBuffer> buffers, const Packing& packing);

}  // namespace parallax
