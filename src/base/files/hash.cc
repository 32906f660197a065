#include "base/files/hash.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/files/mapped_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace parallax {
namespace {

Hash128 from(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

}  // namespace

Hash128 hash128(std::span<const std::byte> bytes) {
  return from(XXH3_128bits(bytes.data(), bytes.size()));
}

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash128 hash_mapped(std::span<const std::byte> mapped) {
  constexpr std::size_t kStep = std::size_t{8} << 20;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  for (std::size_t at = 0; at < mapped.size(); at += kStep) {
    const auto part = mapped.subspan(at, std::min(kStep, mapped.size() - at));
    XXH3_128bits_update(state.get(), part.data(), part.size());
    release_pages(part);
  }
  return from(XXH3_128bits_digest(state.get()));
}

}  // namespace parallax
