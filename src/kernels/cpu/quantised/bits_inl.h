// Words that hold several weights of 2, 4 or 8 bits, and these as f32. Included once per target
// (the guard toggles).
#include <cstring>

#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

#if defined(PX_KERNELS_CPU_QUANTISED_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_QUANTISED_BITS_INL_H_
#undef PX_KERNELS_CPU_QUANTISED_BITS_INL_H_
#else
#define PX_KERNELS_CPU_QUANTISED_BITS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// As many words of 32 bits as a vector has floats.
using WordTag = hn::RebindToUnsigned<FloatTag>;
using WordVec = hn::Vec<WordTag>;

/// Weights of a word.
template <int kBits>
constexpr std::size_t kPerWord = 32 / kBits;
/// The zero point of a block that has no other, which fields are read without.
template <int kBits>
constexpr int kMidpoint = 1 << (kBits - 1);

/// Loads the first `n` elements, zeros after them. Reads n elements at any alignment and none past
/// them.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const std::byte* from, std::int64_t n) {
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())] = {};
  std::memcpy(buffer, from, static_cast<std::size_t>(n) * sizeof(buffer[0]));
  return hn::Load(d, buffer);
}
/// Loads a vector from any address.
template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  return load_first(d, from, 1);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

// AVX-512 looks weights of up to 4 bits up in a register, from the low bits of a word upwards.
// Otherwise, fields are shifted as signed numbers, from the high bits downwards.
#if HWY_TARGET == HWY_AVX3
template <int kBits>
constexpr bool kFromTable = kBits <= 4;
#else
template <int kBits>
constexpr bool kFromTable = false;
#endif

/// Weights of vectors of words, minus the midpoint. Each call of next() returns one weight of every
/// word; those of neighbouring lanes lie kPerWord elements apart.
template <int kBits>
struct BitFields {
  FloatVec table;

  HWY_INLINE BitFields() : table(hn::Zero(FloatTag())) {
    if constexpr (kFromTable<kBits>) {
      HWY_ALIGN float numbers[hn::MaxLanes(FloatTag())];
      for (int i = 0; i < static_cast<int>(hn::MaxLanes(FloatTag())); ++i)
        numbers[i] = static_cast<float>(i % (1 << kBits) - kMidpoint<kBits>);
      table = hn::Load(FloatTag(), numbers);
    }
  }

  /// Position in its word of the weight that the i-th call of next() returns.
  static constexpr std::size_t position(std::size_t i) {
    return kFromTable<kBits> ? i : kPerWord<kBits> - 1 - i;
  }
  /// Prepares words for next().
  HWY_INLINE WordVec begin(WordVec words) const {
    if constexpr (kFromTable<kBits>) return words;
    constexpr std::uint32_t kSigns = kBits == 2   ? 0xAAAAAAAAU
                                     : kBits == 4 ? 0x88888888U
                                                  : 0x80808080U;
    return hn::Xor(words, hn::Set(WordTag(), kSigns));
  }
  /// Returns the next weight of each word as f32, minus the midpoint, and removes it from the
  /// words. REQUIRES: `words` are those of begin(); at most kPerWord calls.
  HWY_INLINE FloatVec next(WordVec& words) const {
    const FloatTag d;
#if HWY_TARGET == HWY_AVX3
    if constexpr (kFromTable<kBits>) {
      const FloatVec field{_mm512_permutexvar_ps(words.raw, table.raw)};
      words = hn::ShiftRight<kBits>(words);
      return field;
    }
#endif
    const hn::RebindToSigned<FloatTag> whole;
    const auto field = hn::ShiftRight<32 - kBits>(hn::BitCast(whole, words));
    words = hn::ShiftLeft<kBits>(words);
    return hn::ConvertTo(d, field);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_QUANTISED_BITS_INL_H_
