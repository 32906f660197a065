// Encodes numbers and texts as bytes, and decodes them, for files that only this program reads.
// Small numbers need one byte. Fixed-size values have the byte order of the machine, so files do
// not move between machines of different byte order. Not thread-safe: one thread uses an object.
//
// Readers bound every length by the bytes that are left, so that damaged input costs no more memory
// or time than its own size. Formats have no tags: the reader must ask in the order in which the
// writer wrote.
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

/// Appends encoded values to a buffer. Every function may throw std::bad_alloc.
class ByteWriter {
 public:
  /// Writes `x` in groups of seven bits, lowest first; the top bit of a byte says that more follow.
  /// One byte below 128, at most ten (LEB128).
  void number(std::uint64_t x) {
    for (; x >= 0x80; x >>= 7U) bytes_.push_back(static_cast<std::byte>(x | 0x80U));
    bytes_.push_back(static_cast<std::byte>(x));
  }
  /// Writes a signed number; negative numbers that are close to 0 are short, too. 0, -1, 1, -2
  /// become 0, 1, 2, 3 (zigzag), then number().
  void integer(std::int64_t x) {
    const auto bits = static_cast<std::uint64_t>(x);
    number(x < 0 ? ~(bits << 1U) : bits << 1U);
  }
  /// Writes the object representation of `x`: sizeof(T) bytes, padding included, without a length.
  template <class T>
  void raw(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(std::as_bytes(std::span(&x, 1)));
  }
  /// Writes the length of `x`, then its characters.
  void text(std::string_view x) { block(std::as_bytes(std::span(x.data(), x.size()))); }
  /// Writes the number of bytes, then the bytes.
  void block(std::span<const std::byte> x) {
    number(x.size());
    append(x);
  }
  /// Writes the bytes alone, for readers that take all of ByteReader::rest().
  void append(std::span<const std::byte> x) { bytes_.insert(bytes_.end(), x.begin(), x.end()); }

  /// Moves the buffer out; the writer is empty afterwards and can be used again. The capacity goes
  /// with it.
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;  ///< everything written so far
};

/// Decodes bytes of a ByteWriter. The bytes may be damaged: after a read that needs more bytes than
/// are left, or finds an invalid value, ok() stays false, rest() is empty and every read returns 0
/// or an empty value.
class ByteReader {
 public:
  /// Reads from `bytes`, which must outlive the reader and the spans and texts that it returns.
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Returns whether all reads so far succeeded. Check it after the last read, before acting on any
  /// value.
  bool ok() const { return ok_; }
  /// Marks the input as invalid, for callers that find an error in a value.
  void fail() {
    ok_ = false;
    bytes_ = {};
  }
  /// Returns the bytes that have not been read yet.
  std::span<const std::byte> rest() const { return bytes_; }

  /// Reads what ByteWriter::number() wrote. Fails if the value does not fit 64 bits. Numbers with
  /// more leading groups than needed are accepted.
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
  /// Reads what ByteWriter::integer() wrote. Fails as number() does.
  std::int64_t integer() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits & 1U) != 0 ? ~(bits >> 1U) : bits >> 1U);
  }
  /// Reads a number. Fails if it is not below `limit`.
  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t x = number();
    if (x < limit) return x;
    fail();
    return 0;
  }
  /// Reads a number n of items. Fails unless the remaining bytes can hold n items of at least
  /// `bytes` bytes, so that a caller may reserve memory for them. REQUIRES: bytes > 0. With the
  /// size of an encoded item, not that of the object in memory, the items may still need a multiple
  /// of the input's bytes.
  std::size_t count(std::size_t bytes = 1) {
    const std::uint64_t x = number();
    if (x <= bytes_.size() / bytes) return static_cast<std::size_t>(x);
    fail();
    return 0;
  }
  /// Reads sizeof(T) bytes as the object representation of a T; T{} on failure. T: a type of which
  /// all representations are values, because the bytes may be damaged.
  template <class T>
  T raw() {
    static_assert(std::is_trivially_copyable_v<T>);
    T x{};
    if (const auto part = take(sizeof(T)); !part.empty()) std::memcpy(&x, part.data(), sizeof(T));
    return x;
  }
  /// Reads a length and that many bytes. The result points into the input. Fails if fewer bytes are
  /// left than the length says; the result has no alignment.
  std::span<const std::byte> block() { return take(count()); }
  /// Reads a length and that many characters. The result points into the input. Not checked for
  /// UTF-8; may contain zeros.
  std::string_view text() {
    const auto part = block();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  /// Returns the next `size` bytes and advances; empty, after fail(), if fewer are left.
  std::span<const std::byte> take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const auto part = bytes_.first(ok_ ? size : 0);
    bytes_ = bytes_.subspan(part.size());
    return part;
  }

  std::span<const std::byte> bytes_;  ///< the bytes that are left
  bool ok_ = true;
};

}  // namespace parallax
