// Selects kernel sizes by measuring, once for each device and driver. Thread-safety: functions over
// a context that other threads may use, which makes the measurements less accurate.
//
// Both functions block the calling thread for seconds on a new device.
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
/// that cannot be built, or are not measured in time, are not selected. The first candidates are
/// measured whatever the limit. A later candidate must be 5 % faster than the best so far. If no
/// candidate can be measured, the result is the first.
Tuning measured_tuning(const std::shared_ptr<ClContext>& context,
                       double limit_seconds = kTuningSeconds);

/// Returns the tuning stored in `folder` for this device, driver and these kernels; otherwise
/// measures and stores it. Writes the choice to `log`. A damaged file is measured again; a file
/// that cannot be written is ignored. `log` is called on this thread, only after measuring.
/// OpenDevice calls this under its mutex, so regions of one device wait for each other here.
Tuning kept_tuning(const std::shared_ptr<ClContext>& context, const std::filesystem::path& folder,
                   const std::function<void(const std::string&)>& log);

}  // namespace parallax::opencl
