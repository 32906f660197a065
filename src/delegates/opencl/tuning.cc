#include "delegates/opencl/tuning.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace parallax::opencl {

const ProductSizes& matmul_sizes(const Tuning& tuning) { return kProductSizes[tuning.matmul]; }
const ProductSizes& conv_sizes(const Tuning& tuning) { return kProductSizes[tuning.conv]; }

KernelSpecs::KernelSpecs(const Tuning& tuning) : tuning_(tuning) {
  using enum KernelId;
  for (const KernelId id : {matmul_rows, matmul_tiles, conv_rows, conv_each, conv_tiles}) {
    KernelSpec spec = spec_of(id);
    const bool matmul = id == matmul_rows || id == matmul_tiles;
    const ProductSizes& sizes = matmul ? matmul_sizes(tuning) : conv_sizes(tuning);
    spec.source = fmt::format("#define ROWS {}\n#define TILE {}\n#define ITEM {}\n", sizes.rows,
                              sizes.tile, sizes.item) +
                  spec.source;
    if (id == matmul_tiles || id == conv_tiles) {
      const auto side = static_cast<std::size_t>(sizes.tile / sizes.item);
      spec.group = {side, side, 1};
    }
    tuned_.emplace(id, std::move(spec));
  }
}

const KernelSpec& KernelSpecs::operator[](KernelId id) const {
  const auto found = tuned_.find(id);
  return found == tuned_.end() ? spec_of(id) : found->second;
}

std::array<std::byte, 2> bytes_of_tuning(const Tuning& tuning) {
  return {std::byte{tuning.matmul}, std::byte{tuning.conv}};
}

std::optional<Tuning> tuning_of(std::span<const std::byte> bytes) {
  if (bytes.size() != 2) return std::nullopt;
  const Tuning tuning{std::to_integer<std::uint8_t>(bytes[0]),
                      std::to_integer<std::uint8_t>(bytes[1])};
  if (tuning.matmul >= std::size(kProductSizes) || tuning.conv >= std::size(kProductSizes))
    return std::nullopt;
  return tuning;
}

}  // namespace parallax::opencl
