#include "kernels/cpu/gemm/half_loops.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/targets.h"
#include "parallax/elements.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/half_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/gemm/halves_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void narrow_floats_row(const float* from, void* to, std::size_t n) {
  if constexpr (!kConvertsHalves) {
    write_elements<float>(DType::kF16, std::span(from, n), static_cast<std::byte*>(to), 0);
    return;
  }
  const FloatTag d;
  auto* y = static_cast<hwy::float16_t*>(to);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(HalfFloatTag(), hn::LoadU(d, from + i)), HalfFloatTag(), y + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(narrow_floats_row);

namespace {

/// Floats of a block of widened rows, on the stack, which stays in the second-level cache. Each
/// block reads and writes the sums once. swinv2_tiny as f16 on two Zen 4 threads, relative to f32:
/// 1.058 with 4096, 1.050 with 8192, 1.004 with 16384 and 32768, 0.999 with 49152.
constexpr std::size_t kBlockFloats = std::size_t{16} << 10;

}  // namespace

void narrow_columns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                    void* to, std::size_t padded) {
  auto* row = static_cast<std::byte*>(to);
  for (std::size_t k = 0; k < depth; ++k, from += stride, row += padded * kHalfBytes) {
    if (columns == padded) {
      HWY_DYNAMIC_DISPATCH(narrow_floats_row)(from, row, padded);
      continue;
    }
    float whole[kMostPadded] = {};
    std::copy_n(from, columns, whole);
    HWY_DYNAMIC_DISPATCH(narrow_floats_row)(whole, row, padded);
  }
}

void half_panel(const MatMulPanel& panel) {
  alignas(64) float block[kBlockFloats];
  const std::size_t most = kBlockFloats / panel.ldb;
  const std::size_t blocks = (panel.depth + most - 1) / most;
  const auto* from = static_cast<const std::byte*>(panel.b);
  MatMulPanel part = panel;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t begin = panel.depth * i / blocks, end = panel.depth * (i + 1) / blocks;
    part.depth = end - begin;
    part.a = static_cast<const float*>(panel.a) + begin;
    part.accumulate = panel.accumulate || i > 0;
    part.residual = end == panel.depth ? panel.residual : nullptr;
    part.bounds = end == panel.depth ? panel.bounds : Bounds{};
    part.next_b = end < panel.depth ? from + end * panel.ldb * kHalfBytes : panel.next_b;
    matmul_halves(part, from + begin * panel.ldb * kHalfBytes, block);
  }
}

}  // namespace parallax
#endif  // HWY_ONCE
