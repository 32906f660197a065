// The options of what runs parts of the model beside the CPU, and of what plans for it.
#pragma once

#include "options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parallax::cli {

void add_library(CLI::App& command, Options& options);

/// What runs parts of the model beside the CPU.
void add_device(CLI::App& command, Options& options);

/// What an accelerator gets, for commands that do not run it.
CLI::Option* add_delegate(CLI::App& command, Options& options);

/// Throws UsageError where another option leaves nothing that could be split.
void check_co_execution(const Options& options);

/// Throws UsageError for a calibration that is missing or of no use.
void check_calibration(const Options& options);

}  // namespace parallax::cli
