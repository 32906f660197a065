// Access to the C library's heap, for MemoryAccount::trim() and measurements. Thread-safe.
#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace parallax {

/// Returns free pages of the heap to the system; glibc would keep them for later allocations. Walks
/// the whole heap, so runs do not call it. Does nothing with other C libraries. Blocks that are in
/// use stay where they are.
inline void free_heap_pages() {
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

}  // namespace parallax
