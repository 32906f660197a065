// Maps positions of a padded axis to elements of the original, for every kernel of Pad. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace parallax {

/// Attribute `mode`: a constant, the image mirrored without repeating its edge, the edge, or the
/// image repeated periodically.
enum class PadMode { kConstant, kReflect, kEdge, kWrap };

/// Unknown names mean kConstant: shape inference has rejected them.
PadMode pad_mode_of(const std::string& name);

/// Returns the element, in [0, dim), whose value position `at` has, -1 if it is the constant. `at`
/// counts from the first original element and may be negative or beyond the end by more than `dim`.
/// REQUIRES: dim > 0, or `mode` is kConstant.
std::int64_t padded_source(PadMode mode, std::int64_t at, std::int64_t dim);

}  // namespace parallax
