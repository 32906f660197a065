// Widening of a part of a panel: lanes are columns, so that rows are stored as a micro-kernel reads
// them.
#include <algorithm>

#include "kernels/cpu/quantised/bits_matrix.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/bits_panels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/quantised/bits_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns a block's zero point minus the midpoint.
template <int kBits>
float zero_point(const BitsMatrix& matrix, std::int64_t column, std::int64_t block) {
  if (matrix.zeros == nullptr) return 0;
  float zero = 0;
  if (matrix.packed_zeros) {
    const std::int64_t bit = block * kBits;
    const auto byte =
        std::to_integer<unsigned>(matrix.zeros[column * matrix.sizes.zero_bytes() + bit / 8]);
    zero = static_cast<float>((byte >> static_cast<unsigned>(bit % 8)) & ((1U << kBits) - 1U));
  } else {
    std::memcpy(&zero, matrix.zeros + (column * matrix.sizes.blocks() + block) * 4, sizeof(zero));
  }
  return zero - static_cast<float>(kMidpoint<kBits>);
}

/// Words, scales and zero points of a block, or a part of one, for a vector of columns.
template <int kBits>
struct BitsTile {
  static constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
  HWY_ALIGN std::uint32_t words[kBitsPartDepth / kPerWord<kBits> * kLanes];
  HWY_ALIGN float scales[kLanes], zeros[kLanes];

  /// Reads `steps` words from depth `begin` on. Lanes past the last column repeat it.
  HWY_INLINE void read(const BitsMatrix& matrix, std::int64_t column, std::int64_t end,
                       std::int64_t begin, std::size_t steps) {
    const std::int64_t blocks = matrix.sizes.blocks(), block = begin / matrix.sizes.block;
    const std::size_t lanes = hn::Lanes(FloatTag());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t at = std::min(column + static_cast<std::int64_t>(lane), end - 1);
      const std::byte* from =
          matrix.weights + at * blocks * matrix.sizes.block_bytes() + begin * kBits / 8;
      // The next part is read after many rows were multiplied with this one.
      __builtin_prefetch(from + kBitsPartDepth * kBits / 8, 0, 2);
      for (std::size_t i = 0; i < steps; ++i)
        std::memcpy(words + i * lanes + lane, from + i * 4, sizeof(words[0]));
      std::memcpy(scales + lane, matrix.scales + (at * blocks + block) * 4, sizeof(float));
      zeros[lane] = zero_point<kBits>(matrix, at, block);
    }
  }

  HWY_INLINE void widen(const BitFields<kBits>& fields, std::size_t steps, float* HWY_RESTRICT to,
                        std::size_t stride) const {
    const FloatTag d;
    const auto scale = hn::Load(d, scales), zero = hn::Load(d, zeros);
    for (std::size_t i = 0; i < steps; ++i, to += kPerWord<kBits> * stride) {
      WordVec word = fields.begin(hn::Load(WordTag(), words + i * hn::Lanes(d)));
      PX_UNROLL for (std::size_t j = 0; j < kPerWord<kBits>; ++j) {
        const auto weight = hn::Mul(hn::Sub(fields.next(word), zero), scale);
        hn::StoreU(weight, d, to + BitFields<kBits>::position(j) * stride);
      }
    }
  }
};

template <int kBits>
HWY_NOINLINE void widen_part(const BitsMatrix& matrix, const BitsPart& part, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  const std::int64_t stride = (part.columns + lanes - 1) / lanes * lanes;
  const std::int64_t each = std::min(matrix.sizes.block, kBitsPartDepth);
  const auto steps = static_cast<std::size_t>(each) / kPerWord<kBits>;
  const BitFields<kBits> fields;
  BitsTile<kBits> tile;
  // Vector by vector: lines of many columns would fall into the same few sets of the cache.
  for (std::int64_t j = 0; j < stride; j += lanes) {
    for (std::int64_t k = 0; k < part.depth; k += each) {
      tile.read(matrix, part.column + j, part.column + part.columns, part.begin + k, steps);
      tile.widen(fields, steps, to + k * stride + j, static_cast<std::size_t>(stride));
    }
  }
}

}  // namespace

void widen_part_of(const BitsMatrix& matrix, const BitsPart& part, float* to) {
  if (matrix.sizes.bits == 2) return widen_part<2>(matrix, part, to);
  if (matrix.sizes.bits == 4) return widen_part<4>(matrix, part, to);
  widen_part<8>(matrix, part, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widen_part_of);

void widen_bits(const BitsMatrix& matrix, const BitsPart& part, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_part_of)(matrix, part, to);
}

}  // namespace parallax
#endif  // HWY_ONCE
