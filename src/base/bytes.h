// Numbers and texts as bytes and back, for files that this program writes for itself. Small numbers
// take one byte. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace parallax {

class ByteWriter {
 public:
  /// Seven bits a byte, lowest first; the top bit says that more follow.
  void number(std::uint64_t x) {
    for (; x >= 0x80; x >>= 7U) bytes_.push_back(static_cast<std::byte>(x | 0x80U));
    bytes_.push_back(static_cast<std::byte>(x));
  }
  /// Small negative numbers are short as well.
  void integer(std::int64_t x) {
    const auto bits = static_cast<std::uint64_t>(x);
    number(x < 0 ? ~(bits << 1U) : bits << 1U);
  }
  template <class T>
  void raw(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(std::as_bytes(std::span(&x, 1)));
  }
  void text(std::string_view x) { block(std::as_bytes(std::span(x.data(), x.size()))); }
  /// Bytes, after how many they are.
  void block(std::span<const std::byte> x) {
    number(x.size());
    append(x);
  }
  void append(std::span<const std::byte> x) { bytes_.insert(bytes_.end(), x.begin(), x.end()); }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a ByteWriter wrote, from bytes that may be damaged. Once a read finds too little, or
/// what does not fit, ok() stays false, nothing is left and every read gives 0 or empty.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  void fail() {
    ok_ = false;
    bytes_ = {};
  }
  /// What is left.
  std::span<const std::byte> rest() const { return bytes_; }

  std::uint64_t number() {
    std::uint64_t x = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = std::to_integer<std::uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      if (shift == 63 && byte > 1) break;
      x |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return x;
    }
    fail();
    return 0;
  }
  std::int64_t integer() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits & 1U) != 0 ? ~(bits >> 1U) : bits >> 1U);
  }
  /// A number that is below `limit`.
  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t x = number();
    if (x < limit) return x;
    fail();
    return 0;
  }
  /// How many items follow, each at least `bytes` long. Fails if what is left has no room for them.
  std::size_t count(std::size_t bytes = 1) {
    const std::uint64_t x = number();
    if (x <= bytes_.size() / bytes) return static_cast<std::size_t>(x);
    fail();
    return 0;
  }
  template <class T>
  T raw() {
    static_assert(std::is_trivially_copyable_v<T>);
    T x{};
    if (const auto part = take(sizeof(T)); !part.empty()) std::memcpy(&x, part.data(), sizeof(T));
    return x;
  }
  std::span<const std::byte> block() { return take(count()); }
  std::string_view text() {
    const auto part = block();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const auto part = bytes_.first(ok_ ? size : 0);
    bytes_ = bytes_.subspan(part.size());
    return part;
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace parallax
