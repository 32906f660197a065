// Replays one run of a program on a device profile. Pure functions. Internal to session/.
#pragma once

#include <vector>

#include "execute/program.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "partition/profile.h"

namespace parallax {

/// Relative speed of every core of a device, fastest first.
std::vector<double> core_speeds(const DeviceProfile& device);

/// The delegate runs the program's regions one after the other, beside the cores, in the time that
/// its Delegation says. Errors (kInvalidInput): fewer cores than the program has threads, no rates
/// and no samples.
Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler);

}  // namespace parallax
