// All commands of the tool, with what they take.
#pragma once

#include "options/options.h"

namespace CLI {
class App;
}

namespace parallax::cli {

using Command = Status (*)(const Options&);

/// Adds them to `app`, which then reads into `options`; the command that is named goes to `chosen`.
/// Parsing throws UsageError, too. The references must outlive the parsing.
void add_commands(CLI::App& app, Options& options, Command& chosen);

}  // namespace parallax::cli
