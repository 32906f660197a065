// Sets of operators. Thread-safety: value types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "ir/op_kind.h"

namespace parallax {

/// A set of operators.
class OpKinds {
 public:
  constexpr OpKinds() = default;
  /// Holds the operators listed; any may be repeated.
  constexpr OpKinds(std::initializer_list<OpKind> kinds) {
    for (const OpKind kind : kinds) words_[word(kind)] |= bit(kind);
  }
  constexpr bool contains(OpKind kind) const { return (words_[word(kind)] & bit(kind)) != 0; }
  constexpr bool empty() const { return words_ == Words{}; }

 private:
  static constexpr std::size_t kBits = 64;
  using Words = std::array<std::uint64_t, (kOpCount + kBits - 1) / kBits>;

  static constexpr std::size_t word(OpKind kind) { return static_cast<std::size_t>(kind) / kBits; }
  static constexpr std::uint64_t bit(OpKind kind) {
    return std::uint64_t{1} << (static_cast<std::size_t>(kind) % kBits);
  }

  Words words_ = {};
};

}  // namespace parallax
