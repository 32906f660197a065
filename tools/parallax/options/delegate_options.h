// The options for delegates, which run parts of the model, and for planning for them.
#pragma once

#include "options/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parallax::cli {

void add_library(CLI::App& command, Options& options);

/// Adds the options for delegates that run.
void add_device(CLI::App& command, Options& options);

/// Adds the options for accelerators that are only planned for. Returns that of the profile.
CLI::Option* add_delegate(CLI::App& command, Options& options);

/// Throws UsageError where another option leaves nothing that could be split.
void check_co_execution(const Options& options);

/// Throws UsageError for a calibration that is missing or of no use.
void check_calibration(const Options& options);

}  // namespace parallax::cli
