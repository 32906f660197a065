// The commands and their options: docs/cli.md.
#include "commands.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "options/common_options.h"
#include "options/delegate_options.h"
#include "options/input_options.h"
#include "options/option_forms.h"

namespace parallax::cli {
namespace {

void add_info(CLI::App& info, Options& options) {
  add_dims(info, options, 1);
  add_signature(info, options);
  add_json(info, options, "the same");
}

void add_run(CLI::App& run, Options& options) {
  add_common(run, options, 1);
  add_execution(run, options);
  add_parallelism(run, options);
  add_limits(run, options);
  add_device(run, options);
  add_inputs(run, options);
  add_ties(run, options);
  add_reset(run, options);
  run.add_option("--repeat", options.repeat,
                 "Run N times on the same inputs, but tied ones; outputs go to DIR/0, DIR/1, ...")
      ->check(within(1, 1000000))
      ->type_name("N");
  CLI::Option* folder =
      run.add_option("--output-dir", options.output_dir,
                     "Where 0.npy, 1.npy, ... and outputs.json are written, in place of those that "
                     "an earlier run wrote there")
          ->type_name("DIR");
  add_choice<OutputFormat>(run, "--output-format", options.output_format,
                           {{"npy", OutputFormat::kNpy}, {"pb", OutputFormat::kPb}},
                           "What they are: npy (the default) or pb, ONNX's own form, which has "
                           "types that NumPy lacks")
      ->needs(folder);
  CLI::Option* top =
      run.add_option("--top", options.top,
                     "Print the K largest values, with their indices, of outputs that look like "
                     "scores")
          ->check(within(1, 1000000))
          ->type_name("K");
  run.add_option("--labels", options.labels, "Names of the classes for --top, one a line")
      ->type_name("FILE")
      ->needs(top);
}

void add_plan(CLI::App& plan, Options& options) {
  add_common(plan, options, 1);
  add_execution(plan, options);
  add_parallelism(plan, options);
  add_json(plan, options, "the plan");
  plan.add_flag("--explain", options.explain,
                "Say of each region, branch and layer why it runs as it does");
  plan.add_flag("--structure", options.structure,
                "Nodes, layers, parallel layers and branches before partitioning, after it, and as "
                "refined");
  plan.add_flag("--require-full-delegation", options.require_full_delegation,
                "Fail, with the list of nodes, where a node stays on the CPU")
      ->needs(add_delegate(plan, options));
  plan.parse_complete_callback([&options] {
    check_calibration(options);
    check_co_execution(options);
  });
}

void add_bench(CLI::App& bench, Options& options) {
  add_common(bench, options, kMaxValues);
  add_execution(bench, options);
  add_parallelism(bench, options);
  add_limits(bench, options);
  add_device(bench, options);
  add_inputs(bench, options);
  add_ties(bench, options);
  add_reset(bench, options);
  bench
      .add_option(
          "--warmup", options.warmup,
          "Runs of each caller before the clock starts (5), at least one for each value; 0: "
          "the first run only")
      ->check(within(0, 1000000))
      ->type_name("N");
  CLI::Option* runs =
      bench.add_option("--runs", options.runs, "Timed runs (20), at least one for each value")
          ->check(within(1, 1000000))
          ->type_name("N");
  bench
      .add_option("--duration", options.duration,
                  "Time runs for that long instead of a number of them")
      ->check(within(1e-3, 1e6))
      ->type_name("SECONDS")
      ->excludes(runs);
  bench
      .add_option("--concurrency", options.concurrency,
                  "Callers, each a thread that runs the one session (1)")
      ->check(within(1, 1024))
      ->type_name("N");
  add_json(bench, options, "the figures");
  bench.add_flag("--ops", options.ops,
                 "Time, GFLOP/s and GB/s of each node and of each operator, for the first value");
  bench
      .add_option("--trace", options.trace,
                  "Write a further run as a trace that chrome://tracing and Perfetto draw")
      ->type_name("FILE");
}

// Schedulers, thread counts and budgets it goes through by itself.
void add_verify(CLI::App& verify, Options& options) {
  add_common(verify, options, 1);
  add_parallelism(verify, options);
  add_limits(verify, options);
  add_device(verify, options);
  add_inputs(verify, options);
  add_ties(verify, options);
  CLI::Option* expected =
      verify
          .add_option("--expected", options.expected,
                      "Compare with the outputs in a folder instead, as `run --output-dir` writes "
                      "them or 0.npy, 1.npy, ...")
          ->type_name("DIR");
  verify
      .add_option("--tolerance", options.tolerance,
                  "How far floats may be from them, relative to the largest magnitude of the "
                  "output (1e-3)")
      ->check(within(0.0, 1e6))
      ->type_name("X")
      ->needs(expected);
}

void add_simulate(CLI::App& simulate, Options& options) {
  add_common(simulate, options, 1);
  add_execution(simulate, options);
  add_parallelism(simulate, options);
  add_json(simulate, options, "the prediction");
  simulate
      .add_option("--profile", options.profile,
                  "The device: a .toml file, from calibrate say, or the name of one in profiles/; "
                  "--threads takes its fastest cores, by default all. Without it, the device of "
                  "--delegate")
      ->type_name("PROFILE");
  add_delegate(simulate, options);
  simulate.parse_complete_callback([&options] {
    if (options.profile.empty() && options.delegates.empty())
      throw CLI::RequiredError("--profile or --delegate");
    check_calibration(options);
    check_co_execution(options);
  });
}

// It runs on one core, in order.
void add_calibrate(CLI::App& calibrate, Options& options) {
  add_common(calibrate, options, 1);
  add_limits(calibrate, options);
  add_inputs(calibrate, options);
  calibrate
      .add_option("--profile", options.profile,
                  "The .toml file to write; where it exists, the samples are added to it")
      ->required()
      ->type_name("FILE");
}

void add_delegates(CLI::App& delegates, Options& options) {
  add_library(delegates, options);
  add_json(delegates, options, "the same");
}

struct CommandRow {
  const char *name, *what;
  Command command;
  void (*add_options)(CLI::App&, Options&);
};
constexpr CommandRow kCommands[] = {
    {"info", "Say what a model holds, and what run needs", info_command, add_info},
    {"run", "Run once, or several times; print or write the outputs", run_command, add_run},
    {"plan", "Show branches, layers and memory without running", plan_command, add_plan},
    {"bench",
     "Measure latency, memory and CPU time; --dim takes seq=4..77 or seq=4,30,12 too, run by run",
     bench_command, add_bench},
    {"verify",
     "Compare every executor, thread count and budget with the sequential run, bit for bit",
     verify_command, add_verify},
    {"simulate", "Predict how long the plan takes on the cores of a profile", simulate_command,
     add_simulate},
    {"calibrate", "Time the nodes of a model on one core of this machine, for simulate",
     calibrate_command, add_calibrate},
    {"delegates", "List the delegates, which can run parts of models next to the CPU",
     delegates_command, add_delegates}};

void add_options(const CommandRow& row, CLI::App& command, Options& options) {
  if (row.command != delegates_command) add_model(command, options);
  row.add_options(command, options);
  for (CLI::Option* const option : command.get_options())
    if (option->get_items_expected_max() > 0) option->check(check_not_empty);
}

}  // namespace

void add_commands(CLI::App& app, Options& options, Command& chosen) {
  for (const CommandRow& row : kCommands) {
    CLI::App* const command = app.add_subcommand(row.name, row.what);
    // Options are added to the one command that is named: those of all take 0.2 MB.
    command->preparse_callback(
        [&row, &options, command](std::size_t) { add_options(row, *command, options); });
    command->callback([&chosen, run = row.command] { chosen = run; });
  }
}

}  // namespace parallax::cli
