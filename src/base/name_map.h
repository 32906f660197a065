// Hash tables by name. Names come from files, and a file must not be able to choose names that
// collide, which would make loading it quadratic: the hash is SipHash-1-3 under a key that each
// process draws anew. Ordered maps are safe too, but compare long names that begin alike a dozen
// times per look-up. The order of iteration differs from process to process: nothing may follow it.
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace parallax {

using HashKey = std::array<std::uint64_t, 2>;

/// SipHash-1-3, as Aumasson and Bernstein define it.
std::uint64_t sip_hash(const HashKey& key, std::string_view text);
/// sip_hash under the key of this process.
std::uint64_t name_hash(std::string_view name);

struct NameHash {
  using is_transparent = void;
  // Not noexcept, so that tables keep the hashes and compare names only where these are equal.
  std::size_t operator()(std::string_view name) const { return name_hash(name); }
};

/// The names must outlive the table.
template <class T>
using NameMap = std::unordered_map<std::string_view, T, NameHash>;
using NameSet = std::unordered_set<std::string_view, NameHash>;
/// A table that owns its names.
template <class T>
using OwningNameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

}  // namespace parallax
