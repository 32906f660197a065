// Sizes of the kernels of products, which are chosen for each device by measuring. A choice changes
// how fast results come, never which: tests run each. Plain values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "delegates/opencl/launch.h"

namespace parallax::opencl {

/// How many results a kernel holds at once. Of the kernels without local memory: rows (filters) of
/// a work-item. Of those through local memory: the sides of the squares of a work-group and of a
/// work-item, which say how many items a group has.
struct ProductSizes {
  int rows, tile, item;
};
/// In the order in which they are measured.
inline constexpr ProductSizes kProductSizes[] = {{4, 64, 4}, {8, 128, 8}, {6, 64, 8}, {2, 32, 2}};

/// Indices of kProductSizes.
struct Tuning {
  std::uint8_t matmul = 0, conv = 0;
  friend bool operator==(const Tuning&, const Tuning&) = default;
};
const ProductSizes& matmul_sizes(const Tuning& tuning);
const ProductSizes& conv_sizes(const Tuning& tuning);

/// All kernels, those of products with the sizes of a tuning: their work-groups, and definitions in
/// front of their sources.
class KernelSpecs {
 public:
  explicit KernelSpecs(const Tuning& tuning = {});
  const Tuning& tuning() const { return tuning_; }
  /// Lives as long as this.
  const KernelSpec& operator[](KernelId id) const;

 private:
  Tuning tuning_;
  std::map<KernelId, KernelSpec> tuned_;
};

/// As a file has it; nothing for bytes that are no tuning.
std::array<std::byte, 2> bytes_of_tuning(const Tuning& tuning);
std::optional<Tuning> tuning_of(std::span<const std::byte> bytes);

}  // namespace parallax::opencl
