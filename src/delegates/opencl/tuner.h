// Selects kernel sizes by measuring, once for each device and driver. Thread-safety: functions over
// a context that other threads may use, which makes the measurements less accurate.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "delegates/opencl/device/cl_context.h"
#include "delegates/opencl/tuning.h"

namespace parallax::opencl {

/// Time limit of measuring in seconds; a measurement that has started is finished. Most of the time
/// is compilation.
inline constexpr double kTuningSeconds = 8;

/// Returns the fastest of kProductSizes, measured with one product and one convolution each. Sizes
/// that cannot be built, or are not measured in time, are not selected.
Tuning measured_tuning(const std::shared_ptr<ClContext>& context,
                       double limit_seconds = kTuningSeconds);

/// Returns the tuning stored in `folder` for this device, driver and these kernels; otherwise
/// measures and stores it. Writes the choice to `log`.
Tuning kept_tuning(const std::shared_ptr<ClContext>& context, const std::filesystem::path& folder,
                   const std::function<void(const std::string&)>& log);

}  // namespace parallax::opencl
