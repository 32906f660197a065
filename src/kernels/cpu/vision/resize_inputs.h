// The parameters of Resize that are known at plan time. Pure.
#pragma once

#include <optional>

#include "kernels/reference/resize_taps.h"

namespace parallax {

/// Nothing where only a run tells what the positions depend on.
std::optional<ResizeInputs> known_resize_inputs(const KernelRequest& request,
                                                const ResizeShape& shape);

}  // namespace parallax
