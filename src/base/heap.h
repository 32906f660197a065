// The heap of the C library. Thread-safe.
#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace parallax {

/// Returns free pages of the heap to the system, which the C library keeps for later allocations.
inline void free_heap_pages() {
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

}  // namespace parallax
