// Sizes of the product kernels, selected for each device by measuring. A choice affects speed,
// never results; tests run each. Thread-safety: plain values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "delegates/opencl/launch.h"

namespace parallax::opencl {

/// The number of results that a kernel computes together. `rows`, of kernels without local memory:
/// rows (filters) of a work-item. `tile` and `item`, of kernels with local memory: the side of a
/// work-group's square and of a work-item's, which determine the number of items in a group. A
/// group has (tile / item)^2 items.
struct ProductSizes {
  int rows, tile, item;
};
/// The candidates, in the order in which they are measured.
inline constexpr ProductSizes kProductSizes[] = {{4, 64, 4}, {8, 128, 8}, {6, 64, 8}, {2, 32, 2}};

/// A choice: indices of kProductSizes. The default is the first candidate for both.
struct Tuning {
  std::uint8_t matmul = 0, conv = 0;
  friend bool operator==(const Tuning&, const Tuning&) = default;
};
/// Return the sizes that the tuning selects. REQUIRES: the index is one of kProductSizes, which
/// tuning_of() ensures for bytes from files.
const ProductSizes& matmul_sizes(const Tuning& tuning);
const ProductSizes& conv_sizes(const Tuning& tuning);

/// All kernels with the sizes of a tuning: work-groups, and definitions before the sources of
/// product kernels.
class KernelSpecs {
 public:
  /// Only five kernels depend on the tuning; the others are those of spec_of().
  explicit KernelSpecs(const Tuning& tuning = {});
  const Tuning& tuning() const { return tuning_; }
  /// Returns a kernel; it lives as long as this.
  const KernelSpec& operator[](KernelId id) const;

 private:
  Tuning tuning_;
  std::map<KernelId, KernelSpec> tuned_;
};

/// Convert to and from the bytes in a file; nullopt if the bytes are not a valid tuning. Two bytes:
/// the indices of products and of convolutions.
std::array<std::byte, 2> bytes_of_tuning(const Tuning& tuning);
std::optional<Tuning> tuning_of(std::span<const std::byte> bytes);

}  // namespace parallax::opencl
