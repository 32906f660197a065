// Chooses the sizes of kernels by measuring them, once for each device and driver. Thread-safety:
// functions over a context that other threads may use; then they measure worse.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "delegates/opencl/cl_context.h"
#include "delegates/opencl/tuning.h"

namespace parallax::opencl {

/// Seconds that measuring takes at most, and what it has begun then; most of it compiles kernels.
inline constexpr double kTuningSeconds = 8;

/// The fastest of kProductSizes, each of which runs one product and one convolution. What cannot be
/// built or is not measured in time is not chosen.
Tuning measured_tuning(const std::shared_ptr<ClContext>& context,
                       double limit_seconds = kTuningSeconds);

/// What `folder` has for this device, driver and these kernels; otherwise measured, and kept there.
/// `log` is told what was chosen.
Tuning kept_tuning(const std::shared_ptr<ClContext>& context, const std::filesystem::path& folder,
                   const std::function<void(const std::string&)>& log);

}  // namespace parallax::opencl
