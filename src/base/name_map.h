// Hash tables keyed by name. Names come from files, and a file must not be able to choose names
// that collide, which would make loading it quadratic: the hash is SipHash-1-3 under a random key
// of the process. Ordered maps would be safe too, but each look-up compares about a dozen names,
// and long names often share a prefix. The order of iteration differs from process to process, so
// no result may depend on it.
//
// Thread-safety: call the functions from any thread; the tables are containers of the standard
// library.
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

/// The two halves of a 128-bit key of SipHash.
using HashKey = std::array<std::uint64_t, 2>;

/// Returns SipHash-1-3 as Aumasson and Bernstein define it. Implemented for little-endian machines
/// only.
std::uint64_t sip_hash(const HashKey& key, std::string_view text);
/// Returns sip_hash() under the key of this process, which is drawn once. The key comes from
/// getentropy(), or from the clock if the kernel has none. Values must not be stored in files.
std::uint64_t name_hash(std::string_view name);

/// The hash function of these tables. Transparent: a look-up by std::string_view creates no string.
struct NameHash {
  /// Marks the hash as usable with several key types.
  using is_transparent = void;
  // Not noexcept: libstdc++'s tables then store hashes and compare names only if these are equal.
  std::size_t operator()(std::string_view name) const { return name_hash(name); }
};

/// Tables that do not own their names: the names must outlive the table.
template <class T>
using NameMap = std::unordered_map<std::string_view, T, NameHash>;
using NameSet = std::unordered_set<std::string_view, NameHash>;
/// A table that owns its names. find() and contains() of a std::string_view allocate no memory.
template <class T>
using OwningNameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

}  // namespace parallax
