// Predicts the time of one run of a program on a device profile. Thread-safety: pure functions.
#pragma once

#include <filesystem>
#include <vector>

#include "bind/program.h"
#include "device/profile.h"
#include "parallax/options.h"
#include "parallax/report.h"

namespace parallax {

/// Calls load_profile(). Errors: also kInvalidInput if the profile has times of a kernel that this
/// build lacks; they do not apply to other kernels of the operator.
Result<DeviceProfile> load_timed_profile(const std::filesystem::path& path);

/// Returns the number of cores of all classes.
int cores_of(const DeviceProfile& device);

/// Predicts a run. The delegate runs the program's regions one after the other, concurrently with
/// the cores, in the time that the Delegation states. Errors: kInvalidInput if the device has fewer
/// cores than the program has threads, or has neither rates nor samples.
Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler);

}  // namespace parallax
