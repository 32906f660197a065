#include "ops/params/window.h"

namespace parallax {

Padding WindowParams::stated_padding(std::size_t axis, std::size_t axes) const {
  if (auto_pad != AutoPad::kNotSet || pads.size() != 2 * axes) return {};
  return {pads[axis], pads[axis + axes]};
}

Padding WindowParams::padding(std::size_t axis, std::size_t axes, std::int64_t missing) const {
  if (!same()) return stated_padding(axis, axes);
  const std::int64_t total = std::max<std::int64_t>(missing, 0);
  const std::int64_t less = total / 2;
  return auto_pad == AutoPad::kSameUpper ? Padding{less, total - less}
                                         : Padding{total - less, less};
}

}  // namespace parallax
