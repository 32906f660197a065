// Replays one run of a program on a device profile. Pure functions.
#pragma once

#include <filesystem>
#include <vector>

#include "bind/program.h"
#include "device/profile.h"
#include "parallax/options.h"
#include "parallax/report.h"

namespace parallax {

/// load_profile(); kInvalidInput too where the profile has times of a kernel that this build does
/// not have: they say nothing of another kernel of the operator.
Result<DeviceProfile> load_timed_profile(const std::filesystem::path& path);

int cores_of(const DeviceProfile& device);

/// The delegate runs the program's regions one after the other, beside the cores, in the time that
/// its Delegation says. Errors (kInvalidInput): fewer cores than the program has threads, no rates
/// and no samples.
Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler);

}  // namespace parallax
