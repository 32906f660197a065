#include "base/machine/aligned_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/machine/large_pages.h"
#include "base/machine/memory_source.h"
#include "base/shared_bytes.h"
#include "base/status.h"

namespace parallax {

void AlignedBytes::Free::operator()(std::byte* p) const {
  if (owner == nullptr) std::free(p);
}

AlignedBytes AlignedBytes::shared(SharedBytes bytes) {
  AlignedBytes result;
  result.memory_ = {const_cast<std::byte*>(bytes.bytes.data()), Free{std::move(bytes.owner)}};
  result.size_ = std::ssize(bytes.bytes);
  return result;
}

AlignedBytes AlignedBytes::sized(std::int64_t bytes) {
  AlignedBytes result;
  result.size_ = bytes;
  return result;
}

namespace {

tl::unexpected<Error> no_memory(std::int64_t bytes) {
  return tl::unexpected(Error{Stage::kCompile,
                              ErrorCode::kOutOfMemory,
                              {},
                              "cannot allocate " + std::to_string(bytes) + " bytes"});
}

}  // namespace

Result<AlignedBytes> AlignedBytes::allocate(std::int64_t bytes, MemorySource* source) {
  const auto rounded = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  if (bytes < 0 || !rounded) return no_memory(bytes);
  if (source != nullptr && source->is_users()) {
    const auto memory = source->allocate(*rounded, kAlignment);
    if (memory == nullptr) return no_memory(bytes);
    return shared({{memory.get(), static_cast<std::size_t>(bytes)}, memory});
  }
  const bool huge = bytes >= kLargePage, large = source == nullptr || source->large();
  const auto size = static_cast<std::size_t>(*rounded);
  void* memory = nullptr;
  if (!huge) {
    memory = std::aligned_alloc(static_cast<std::size_t>(kAlignment), size);
  } else if (posix_memalign(&memory, static_cast<std::size_t>(kLargePage), size) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr) return no_memory(bytes);
  // A refusal costs speed only.
  if (huge) (void)madvise(memory, size, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  AlignedBytes result;
  result.memory_ = {static_cast<std::byte*>(memory), Free{}};
  result.size_ = bytes;
  return result;
}

}  // namespace parallax
