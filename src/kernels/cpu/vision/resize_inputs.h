// The parameters of Resize that are known at plan time. Pure functions, thread-safe.
#pragma once

#include <optional>

#include "kernels/reference/resize_taps.h"

namespace parallax {

/// Returns the inputs that positions depend on; nullopt if they are known only when the graph runs.
/// The pointers are those of the request's constants.
std::optional<ResizeInputs> known_resize_inputs(const KernelRequest& request,
                                                const ResizeShape& shape);

}  // namespace parallax
