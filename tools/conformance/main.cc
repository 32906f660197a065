// parallax-delegate-conformance [--delegate-lib FILE] NAME[:TEXT]: runs all that a delegate claims
// and compares it with the reference kernels. Exit status: 0 all passed; 1 something failed, the
// delegate crashed or does not open, a file cannot be read or written; 2 wrong usage.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/status.h"
#include "crash.h"
#include "files/files.h"
#include "options/parse_command_line.h"
#include "session/delegates.h"
#include "suite.h"

namespace parallax::conformance {
namespace {

struct Arguments {
  std::string spec, library, json, only;
  bool half = false;
  std::uint64_t seed = 1;
  double seconds = 60;
  int rounds = kGrowthRounds;
};

int fail(int status, std::string text) {
  // CLI11 has messages of several lines.
  std::replace(text.begin(), text.end(), '\n', ' ');
  fmt::print(stderr, "parallax-delegate-conformance: {}\n", text);
  return status;
}

tl::unexpected<Error> unknown(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

Result<DelegateTable> find_delegate(const Arguments& arguments) {
  const std::string name = arguments.spec.substr(0, arguments.spec.find(':'));
  if (arguments.library.empty()) {
    for (const px_delegate* const table : built_in_delegates())
      if (name == table->name) return check_table(table, "");
    return unknown(fmt::format(
        "no delegate '{}' is built in; --delegate-lib FILE says which library has it", name));
  }
  PX_ASSIGN(const DelegateTable table, load_delegate_library(arguments.library));
  if (table.name == name) return table;
  return unknown(
      fmt::format("'{}' has the delegate '{}', not '{}'", arguments.library, table.name, name));
}

SuiteOptions options_of(const Arguments& arguments) {
  SuiteOptions options;
  if (!arguments.only.empty()) options.only = op_from_string(arguments.only);
  options.seed = arguments.seed;
  options.half = arguments.half;
  options.answer_time =
      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds * 1e3));
  options.growth_rounds = arguments.rounds;
  options.begin = [shown = ::isatty(STDERR_FILENO) == 1](const std::string& what) {
    now(what);
    if (shown) fmt::print(stderr, "\r\033[K{}", what);
  };
  return options;
}

/// Whether all passed.
Result<bool> check(const Arguments& arguments) {
  if (!arguments.json.empty()) PX_RETURN_IF_ERROR(cli::check_writable(arguments.json));
  PX_ASSIGN(const DelegateTable table, find_delegate(arguments));
  const Logger log([](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning)
      fmt::print(stderr, "parallax-delegate-conformance: warning: {}\n", line);
  });
  catch_crashes();
  now("opening the device");
  PX_ASSIGN(const SuiteReport report, run_suite(table, arguments.spec, options_of(arguments), log));
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
  fmt::print("{}", to_text(report));
  if (!arguments.json.empty())
    PX_RETURN_IF_ERROR(cli::write_file(arguments.json, {to_json(report)}));
  PX_RETURN_IF_ERROR(cli::finish_standard_output());
  return report.passed();
}

int run(int count, char** texts) {
  Arguments arguments;
  CLI::App app("Runs all that a delegate claims, and compares it with the reference kernels.",
               "parallax-delegate-conformance");
  app.add_option("delegate", arguments.spec, "NAME[:TEXT], as --delegate takes it")->required();
  app.add_option("--delegate-lib", arguments.library, "The shared object that has the delegate");
  app.add_option("--operator", arguments.only, "Only the cases of this operator");
  app.add_option("--seed", arguments.seed, "Of inputs and weights");
  app.add_option("--json", arguments.json, "Writes the report to this file as well");
  app.add_flag("--f16", arguments.half,
               "Regions may store floats in 16 bits; results may then be 2e-2 off, not 1e-4");
  app.add_option("--time-limit", arguments.seconds, "Seconds within which a run must be answered")
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--rounds", arguments.rounds,
                 "Of compiling and discarding, during which memory may not grow; 0: none")
      ->check(CLI::Range(0, 1'000'000));
  if (const auto ended = cli::parse_command_line(app, count, texts, fail)) return *ended;
  if (!arguments.only.empty() && !op_from_string(arguments.only))
    return fail(2, fmt::format("--operator: '{}' is not an operator", arguments.only));
  const auto passed = check(arguments);
  if (!passed) return fail(1, passed.error().to_string());
  return *passed ? 0 : 1;
}

}  // namespace
}  // namespace parallax::conformance

int main(int count, char** texts) {
  // A closed pipe, and a file beyond the limit for files, are errors of writing to it.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  int status = 1;
  try {
    status = parallax::conformance::run(count, texts);
  } catch (const std::exception& error) {
    status = parallax::conformance::fail(1, error.what());
  }
  // A delegate that has not answered may still be at work, on what destructors would take away.
  std::_Exit(status);
}
