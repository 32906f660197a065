// The options of what a run reads: files, images, numbers that are made up, and ties.
#pragma once

#include "options/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace parallax::cli {

void add_inputs(CLI::App& command, Options& options);

/// Inputs that a run reads as the run before left outputs.
void add_ties(CLI::App& command, Options& options);
void add_reset(CLI::App& command, Options& options);

}  // namespace parallax::cli
