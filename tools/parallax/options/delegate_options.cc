#include "options/delegate_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "options/option_forms.h"

namespace parallax::cli {
namespace {

void add_offload(CLI::App& command, Options& options, CLI::Option* delegate) {
  add_choice<Offload>(command, "--offload", options.plan.offload,
                      {{"profitable", Offload::kProfitable}, {"all", Offload::kAll}},
                      "Which regions the delegate gets: those with which the whole is predicted to "
                      "take least, or all that it can run (profitable)")
      ->needs(delegate);
  add_choice<bool>(
      command, "--co-execution", options.plan.co_execution, {{"on", true}, {"off", false}},
      "Whether operators may run on the CPU and the delegate in parallel, some rows of "
      "their results on each, if that is faster (off)")
      ->needs(delegate);
}

/// Adds the options for rates, by which regions of a delegate that runs are chosen.
void add_rates(CLI::App& command, Options& options, CLI::Option* delegate) {
  add_choice<Rates>(command, "--rates", options.session.rates,
                    {{"measured", Rates::kMeasured}, {"described", Rates::kDeclared}},
                    "How fast the delegate is: what is timed here, once, and corrected by what "
                    "runs take (measured), or what it says of itself (described)")
      ->needs(delegate);
  command
      .add_option("--pin-plan", options.session.pinned_plan,
                  "A file that keeps which nodes the delegate runs: where it is there it decides, "
                  "otherwise the plan is written to it")
      ->type_name("FILE")
      ->needs(delegate);
}

}  // namespace

void add_library(CLI::App& command, Options& options) {
  add_repeated(
      command, "--delegate-lib",
      [&options](const std::string& file) { options.runtime.delegate_libraries.push_back(file); },
      "A shared object with a further delegate; it is code that runs with your rights")
      ->type_name("FILE");
}

void check_co_execution(const Options& options) {
  if (!options.plan.co_execution) return;
  const std::pair<bool, const char*> without_splits[] = {
      {options.delegates.size() > 1, "several delegates"},
      {options.plan.offload == Offload::kAll, "--offload all"},
      {options.require_full_delegation, "--require-full-delegation"},
      {!options.session.pinned_plan.empty(), "--pin-plan"},
      {options.plan.max_regions.has_value(), "--max-regions"},
      {options.plan.cost_model == CostModel::kPaper, "--cost-model paper"}};
  for (const auto& [given, what] : without_splits)
    if (given) throw UsageError(fmt::format("--co-execution on splits nothing with {}", what));
}

void add_device(CLI::App& command, Options& options) {
  add_library(command, options);
  CLI::Option* delegate =
      add_repeated(
          command, "--delegate",
          [&options](const std::string& name) { options.delegates.push_back(name); },
          "A delegate that runs parts of the model: parallax delegates lists them; a text "
          "behind a colon tells it more. Given several times, each gets what those before it left")
          ->type_name("NAME[:TEXT]");
  add_offload(command, options, delegate);
  add_rates(command, options, delegate);
  command
      .add_option_function<double>(
          "--delegate-time-limit",
          [&options](double seconds) { options.session.delegate_time_limit_ms = seconds * 1e3; },
          "Seconds that it may take for one region (10); then the run starts again without "
          "it. 0: any time")
      ->check(within(0.0, 1e8))
      ->type_name("S")
      ->needs(delegate);
  command
      .add_option_function<std::string>(
          "--delegate-memory",
          [&options](const std::string& text) {
            const MemoryBudget most = parse_budget(text);
            if (most.kind != MemoryBudget::Kind::kBytes)
              throw UsageError(
                  fmt::format("--delegate-memory {}: that is not a number of bytes", text));
            options.session.delegate_memory_bytes = most.bytes;
          },
          "Most bytes of its own memory that each delegate may use (all that it has): 1GiB")
      ->type_name("BYTES")
      ->needs(delegate);
  command
      .add_flag("--require-full-delegation", options.require_full_delegation,
                "Fail where a node stays on the CPU, or the delegate fails")
      ->needs(delegate);
  command.parse_complete_callback([&options] {
    check_co_execution(options);
    if (!options.delegates.empty()) use_delegates(options);
  });
}

CLI::Option* add_delegate(CLI::App& command, Options& options) {
  CLI::Option* delegate =
      add_repeated(
          command, "--delegate",
          [&options](const std::string& name) { options.delegates.push_back(name); },
          "Plan for a delegate, or several in order of preference; or for the accelerator of a "
          "device profile, which need not be there: a .toml file or the name of one in profiles/")
          ->type_name("NAME");
  add_library(command, options);
  command
      .add_option("--max-regions", options.plan.max_regions,
                  "Give the delegate at most N regions, those that save the most predicted time")
      ->check(within(0, 1000000))
      ->type_name("N")
      ->needs(delegate);
  add_offload(command, options, delegate);
  add_rates(command, options, delegate);
  add_choice<CostModel>(command, "--cost-model", options.plan.cost_model,
                        {{"exact", CostModel::kExact},
                         {"paper", CostModel::kPaper},
                         {"measured", CostModel::kMeasured}},
                        "What decides whether a region is worth it (exact)")
      ->needs(delegate);
  command
      .add_option("--calibration", options.plan.calibration,
                  "Measured rates for --cost-model measured")
      ->type_name("FILE")
      ->needs(delegate);
  return delegate;
}

void check_calibration(const Options& options) {
  const bool measured = options.plan.cost_model == CostModel::kMeasured;
  if (measured && options.plan.calibration.empty())
    throw UsageError("--cost-model measured needs --calibration FILE");
  if (!measured && !options.plan.calibration.empty())
    throw UsageError("--calibration is used by --cost-model measured only");
}

}  // namespace parallax::cli
