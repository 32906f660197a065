// The parallax command line tool: docs/cli.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "commands.h"
#include "files/files.h"
#include "inputs/known_inputs.h"
#include "options/example.h"
#include "options/options.h"
#include "parallax/version.h"

namespace parallax::cli {
namespace {

constexpr int kFault = 1;  // the model or an input is at fault
constexpr int kUsage = 2;  // the command line is

// One line on standard error that begins with "parallax: ".
int fail(int status, std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "parallax: {}\n", message);
  return status;
}

std::string command_line(int argc, char** argv) {
  std::string text = "parallax";
  for (int i = 1; i < argc; ++i) text += " " + shell_word(argv[i]);
  return text;
}

// Says in one line why the command line is wrong.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const std::vector<std::string> rest =
      commands.empty() ? app.remaining() : commands.front()->remaining();
  if (!rest.empty() && !commands.empty()) {
    const std::string& name = commands.front()->get_name();
    return fmt::format("{} takes no '{}' (parallax {} --help lists its options)", name,
                       rest.front(), name);
  }
  if (commands.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* each : app.get_subcommands(nullptr)) names.push_back(each->get_name());
    const std::string wrong =
        rest.empty()
            ? "a command is missing"
            : fmt::format("unknown {} '{}'", rest.front().starts_with('-') ? "option" : "command",
                          rest.front());
    return fmt::format("{}; the commands are {}", wrong, fmt::join(names, ", "));
  }
  return fmt::format("{} (parallax {} --help lists options)", error.what(),
                     commands.front()->get_name());
}

int print_and_end(const std::string& text) {
  fmt::print("{}", text);
  const Status printed = finish_standard_output();
  return printed ? 0 : fail(kFault, printed.error().to_string());
}

// Instruction sets by Highway's names; AVX3 is AVX-512, AVX3_DL the same with VNNI.
constexpr std::string_view kTargets[] = {"SSE4", "AVX2", "AVX3", "AVX3_DL", "NEON"};

// Refuses a name in PARALLAX_TARGETS (cmake/highway_targets.cc) that is not one of them.
void check_targets() {
  const char* const names = std::getenv("PARALLAX_TARGETS");  // NOLINT: this is the only thread
  if (names == nullptr) return;
  for (const std::string& name : CLI::detail::split(names, ',')) {
    if (std::ranges::find(kTargets, name) == std::end(kTargets))
      throw UsageError(fmt::format("PARALLAX_TARGETS: no instruction set '{}'; there are {}", name,
                                   fmt::join(kTargets, ", ")));
  }
}

// Runs the command and writes out what it printed.
Status finish(Command command, const Options& options) {
  if (!options.json.empty() && options.json != "-") {
    if (auto status = check_writable(options.json); !status) return status;
  }
  Status status = command(options);
  if (!status && may_load_with_sizes(options, status.error())) {
    Options again = options;
    again.loads_with_sizes = true;
    if (command(again)) status = {};
  }
  if (!status) {
    if (status.error().code == ErrorCode::kUnboundSymbol) {
      const std::string would_do = complete_command(options);
      status.error().message +=
          would_do.empty() ? "; --dim NAME=N gives it one" : "; this would do: " + would_do;
    }
    return status;
  }
  return finish_standard_output();
}

int main_in_namespace(int argc, char** argv) {
  CLI::App app{
      "Runs unmodified ONNX and TFLite models, branches in parallel, within a memory budget."};
  app.footer(
      "`parallax COMMAND --help` tells the options of a command. Exit status: 0 done, 1 the model "
      "or an input is at fault, 2 wrong usage.");
  app.set_version_flag("--version", "parallax " PARALLAX_VERSION);
  app.require_subcommand(1);
  Options options;
  options.command_line = command_line(argc, argv);
  Command command = nullptr;
  add_commands(app, options, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(kUsage, usage_text(app, error));
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    return print_and_end(text.str());
  }
  check_targets();
  const Status status = finish(command, options);
  return status ? 0 : fail(kFault, status.error().to_string());
}

}  // namespace
}  // namespace parallax::cli

int main(int argc, char** argv) {
  namespace cli = parallax::cli;
  // A closed pipe, and an output beyond the limit for files, are errors with a message, as a full
  // disk is.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cli::main_in_namespace(argc, argv);
  } catch (const cli::UsageError& error) {
    return cli::fail(cli::kUsage, error.what());
  } catch (const std::system_error& error) {  // thrown by printing
    if (std::ferror(stdout) == 0) return cli::fail(cli::kFault, error.what());
    return cli::fail(cli::kFault,
                     cli::cannot_write("standard output", error.code().value()).message);
  } catch (const std::exception& error) {  // memory that ran out outside the library, say
    return cli::fail(cli::kFault, error.what());
  }
}
