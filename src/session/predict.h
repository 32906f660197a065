// From a program and a device profile to the replay of one run. Pure functions. Internal to
// session/.
#pragma once

#include <vector>

#include "execute/program.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "partition/profile.h"

namespace parallax {

/// Relative speed of every core of a device, fastest first.
std::vector<double> core_speeds(const DeviceProfile& device);

/// Regions of the program take the delegate the time that its Delegation says, one after the other,
/// beside the cores. Errors (kInvalidInput): fewer cores than the program has threads, no rates and
/// no samples.
Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler);

}  // namespace parallax
