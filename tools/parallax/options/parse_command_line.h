// How every tool takes its command line.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>

#include "files/files.h"

namespace parallax::cli {

/// Fills what `app` knows. Returns the exit status if the tool is to end immediately: 0 after
/// --help, otherwise what `fail(status, message)` returns, status 2 for wrong usage.
template <class Fail>
std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv, Fail fail) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(2, error.what());
    std::ostringstream text;  // --help
    app.exit(error, text, text);
    fmt::print("{}", text.str());
    const Status printed = finish_standard_output();
    return printed ? 0 : fail(1, printed.error().to_string());
  }
}

}  // namespace parallax::cli
