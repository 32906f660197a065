// Amounts of Pad that are known at plan time, for the kernels of Pad. Pure.
#pragma once

#include <array>
#include <optional>

#include "kernels/kernel.h"

namespace parallax {

/// Elements that each axis gets before and behind its own.
struct KnownPads {
  std::array<std::int64_t, Dims::kMaxRank> before{}, after{};
};
/// Nothing where only a run tells, or where elements are cut off.
std::optional<KnownPads> known_pads(const KernelRequest& request);

}  // namespace parallax
