#include "base/name_map.h"

#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>

namespace parallax {
namespace {

struct SipState {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void add(std::uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

/// Little-endian, missing bytes 0.
std::uint64_t read_word(const char* bytes, std::size_t count) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

HashKey draw_key() {
  HashKey key{};
  // A kernel without random numbers leaves the time, which a file's author does not know exactly.
  if (getentropy(key.data(), sizeof(key)) != 0) {
    key[0] = static_cast<std::uint64_t>(
        std::chrono::high_resolution_clock::now().time_since_epoch().count());
  }
  return key;
}

}  // namespace

std::uint64_t sip_hash(const HashKey& key, std::string_view text) {
  SipState state{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU,
                 key[0] ^ 0x6c7967656e657261U, key[1] ^ 0x7465646279746573U};
  const std::size_t whole = text.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) state.add(read_word(text.data() + i, 8));
  const std::size_t rest = text.size() - whole;
  const std::uint64_t tail = rest == 0 ? 0 : read_word(text.data() + whole, rest);
  state.add(tail | static_cast<std::uint64_t>(text.size()) << 56);
  state.c ^= 0xFF;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

std::uint64_t name_hash(std::string_view name) {
  static const HashKey key = draw_key();
  return sip_hash(key, name);
}

}  // namespace parallax
