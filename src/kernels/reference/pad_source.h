// Which element of an axis a padded position shows, for every kernel of Pad. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace parallax {

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

PadMode pad_mode_of(const std::string& name);

/// The element of [0, dim) that position `at`, inside or outside, shows; -1 for the constant.
/// REQUIRES: dim > 0, or `mode` is kConstant.
std::int64_t padded_source(PadMode mode, std::int64_t at, std::int64_t dim);

}  // namespace parallax
