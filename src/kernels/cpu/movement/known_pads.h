// Amounts of Pad that are known at plan time, for the kernels of Pad. Pure functions, thread-safe.
#pragma once

#include <array>
#include <optional>

#include "kernels/kernel.h"

namespace parallax {

/// Elements that are added before and after each axis of the input; 0 for axes without padding, and
/// from the rank on.
struct KnownPads {
  std::array<std::int64_t, Dims::kMaxRank> before{}, after{};
};
/// Returns the pads of a Pad node; nullopt if they are known only when the graph runs, or if a pad
/// is negative and so removes elements. Axes that the input `axes` leaves out have no padding. Also
/// nullopt if an axis is out of range, or pads are not twice as many as axes.
std::optional<KnownPads> known_pads(const KernelRequest& request);

}  // namespace parallax
