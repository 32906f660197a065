// What tools with one command share: the exit statuses 0 (done), 1 (the input or the system is at
// fault) and 2 (wrong usage), and errors as one line that begins with the tool's name.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

namespace parallax::cli {

/// Parses the command line, then calls `run`, which returns what went wrong, if anything. Returns
/// the exit status. A closed pipe and a limit for files are errors of writing, not signals.
int run_one_command(CLI::App& app, int argc, char** argv,
                    const std::function<std::optional<std::string>()>& run);

}  // namespace parallax::cli
