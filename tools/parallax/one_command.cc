#include "one_command.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>

#include "files.h"

namespace parallax::cli {
namespace {

int fail(const CLI::App& app, int status, const std::string& message) {
  fmt::print(stderr, "{}: {}\n", app.get_name(), message);
  return status;
}

int parse_and_run(CLI::App& app, int argc, char** argv,
                  const std::function<std::optional<std::string>()>& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(app, 2, error.what());
    std::ostringstream text;  // --help
    app.exit(error, text, text);
    fmt::print("{}", text.str());
    const Status printed = finish_standard_output();
    return printed ? 0 : fail(app, 1, printed.error().to_string());
  }
  const std::optional<std::string> problem = run();
  return problem ? fail(app, 1, *problem) : 0;
}

}  // namespace

int run_one_command(CLI::App& app, int argc, char** argv,
                    const std::function<std::optional<std::string>()>& run) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parse_and_run(app, argc, argv, run);
  } catch (const std::exception& error) {  // standard output that took only a part, say
    return fail(app, 1, error.what());
  }
}

}  // namespace parallax::cli
