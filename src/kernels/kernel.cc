#include "kernels/kernel.h"

#include <algorithm>
#include <utility>

namespace parallax {
namespace {

bool has_bit(std::uint32_t bits, std::size_t i) { return i < 32 && ((bits >> i) & 1U) != 0; }

class LambdaKernel final : public Kernel {
 public:
  LambdaKernel(LambdaKernelOptions options, TileFunction run)
      : options_(options), run_(std::move(run)) {}

  std::int64_t tiles() const override { return options_.tiles; }
  std::int64_t scratch_bytes() const override { return options_.scratch_bytes; }
  InputUse input_use(std::size_t i) const override {
    if (has_bit(options_.unused_inputs, i)) return InputUse::kNone;
    return has_bit(options_.byte_inputs, i) ? InputUse::kBytes : InputUse::kAligned;
  }
  bool dynamic_outputs() const override { return options_.dynamic_outputs; }
  std::int64_t table_bytes() const override { return options_.table_bytes; }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    return run_(tile, args);
  }

 private:
  LambdaKernelOptions options_;
  TileFunction run_;
};

}  // namespace

std::unique_ptr<Kernel> make_lambda_kernel(LambdaKernelOptions options, TileFunction run) {
  return std::make_unique<LambdaKernel>(options, std::move(run));
}

std::int64_t tile_count(std::int64_t units, std::int64_t per_tile) {
  if (units <= 0) return 0;
  const std::int64_t unit = std::max<std::int64_t>(per_tile, 1);
  return units / unit + (units % unit != 0 ? 1 : 0);
}

TileRange tile_range(std::int64_t units, std::int64_t tiles, std::int64_t tile,
                     std::int64_t granule) {
  // Granules are spread, not units: a boundary rounded down would make the next tile longer.
  const std::int64_t granules = tile_count(units, granule);
  // granules * tile could overflow, so the quotient and the remainder are spread separately.
  const auto boundary = [&](std::int64_t t) {
    if (t >= tiles) return units;
    return (granules / tiles * t + granules % tiles * t / tiles) * granule;
  };
  return {boundary(tile), boundary(tile + 1)};
}

}  // namespace parallax
