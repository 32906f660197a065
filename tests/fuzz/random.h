// Random numbers that are the same on every machine: the standard's engines are, its distributions
// are not. Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// SplitMix64 (Steele, Lea, Flood 2014).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27U) * 0x94D049BB133111EBU;
    return z ^ z >> 31U;
  }
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// In [0, n); n > 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  template <class Container>
  const auto& pick(const Container& container) {
    return *(container.begin() + static_cast<std::ptrdiff_t>(below(container.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace parallax::fuzz
