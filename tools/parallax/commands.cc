// The commands and their options: docs/cli.md.
#include "commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "report.h"

namespace parallax::cli {
namespace {

// An option that takes one of a few names, each standing for a value.
template <class T>
CLI::Option* add_choice(CLI::App& command, const char* name, T& value,
                        std::vector<std::pair<std::string, T>> choices, const char* what) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices](const std::string& text) {
            for (const auto& [each, meaning] : choices)
              if (each == text) value = meaning;
          },
          what)
      ->check(CLI::IsMember(names))
      ->type_name("NAME");
}

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const auto& [name, scheduler] : kSchedulers) names.emplace_back(name);
  return names;
}

// A number from `low` to `high`. CLI::Range takes NaN, and names its limits with six decimals.
template <class T>
CLI::Validator within(T low, T high) {
  return {[low, high](std::string& text) -> std::string {
            T value{};
            const bool wraps = std::is_unsigned_v<T> && text.starts_with('-');
            if (!wraps && CLI::detail::lexical_cast(text, value) && value >= low && value <= high)
              return {};
            return fmt::format("'{}' is no {}number from {} to {}", text,
                               std::is_integral_v<T> ? "whole " : "", low, high);
          },
          fmt::format("{} to {}", low, high)};
}

// What --cache "$UNSET" gives: it would be ignored.
std::string check_not_empty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

// An option that may be given several times; each text is taken on its own.
CLI::Option* add_repeated(CLI::App& command, const char* name,
                          const std::function<void(const std::string&)>& take, const char* what) {
  return command
      .add_option_function<std::vector<std::string>>(
          name,
          [take](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) take(text);
          },
          what)
      ->allow_extra_args(false);
}

void add_model(CLI::App& command, Options& options) {
  command.add_option("MODEL", options.model, "The .onnx file")->required()->type_name("");
  command
      .add_option("--max-nesting", options.load.max_nesting,
                  "How deep If, Loop and Scan may lie inside each other (16)")
      ->check(within(0, 64))
      ->type_name("N");
}

// `values`: the most that --dim takes.
void add_dims(CLI::App& command, Options& options, std::size_t values) {
  add_repeated(
      command, "--shape",
      [&options](const std::string& text) { options.shapes.push_back(parse_shape(text)); },
      "Shape of an input, as NAME=1x3x640x640; binds the free dimensions in it")
      ->type_name("NAME=DIMS");
  add_repeated(
      command, "--dim",
      [&options, values](const std::string& text) {
        options.dims.push_back(parse_dim(text, values));
      },
      "Value of a free dimension, as SYMBOL=N")
      ->type_name("SYMBOL=N");
}

// What every command but info takes.
void add_common(CLI::App& command, Options& options, std::size_t values) {
  add_dims(command, options, values);
  command
      .add_option_function<std::string>(
          "--precision",
          [&options](const std::string& name) {
            options.session.precision = name == "bf16" ? Precision::kBf16 : Precision::kF32;
          },
          "What products and convolutions round their operands to: f32 (the default) or, "
          "where the CPU has AVX-512-BF16, bf16; sums are f32")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->type_name("NAME");
  command
      .add_option(
          "--cache", options.runtime.cache,
          "A folder that keeps what loading made for the next time; no others may write there")
      ->type_name("DIR");
  add_repeated(
      command, "--disable-pass",
      [&options](const std::string& name) { options.load.disabled_passes.push_back(name); },
      "A pass over the graph to leave out; may be given several times")
      ->check(CLI::IsMember(Model::passes()))
      ->type_name("NAME");
}

// What verify goes through by itself.
void add_execution(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>(
          "--scheduler",
          [&options](const std::string& name) {
            for (const auto& [known, scheduler] : kSchedulers)
              if (name == known) options.session.scheduler = scheduler;
          },
          "How nodes are run: dataflow (branches in parallel, the default), layers (the same with "
          "a "
          "barrier after each layer) or sequential")
      ->check(CLI::IsMember(scheduler_names()))
      ->type_name("NAME");
  command
      .add_option("--threads", options.session.threads,
                  "Threads, the main one included; by default the CPUs that this process may use")
      ->check(within(1, 1024))
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--memory-budget",
          [&options](const std::string& text) { options.session.budget = parse_budget(text); },
          "Most bytes for activations and scratch: 64MiB, auto (a share of what is free) "
          "or none (the default)")
      ->type_name("BYTES");
}

void add_limits(CLI::App& command, Options& options) {
  command
      .add_option("--max-loop-trips", options.session.max_loop_trips,
                  "Most trips of all loops of a run together (1000000)")
      ->check(within(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command
      .add_option("--time-limit", options.session.time_limit_seconds,
                  "Seconds after which a run stops with an error; 0, the default: no limit")
      ->check(within(0.0, 1e8))
      ->type_name("S");
}

// Which branches run at once.
void add_parallelism(CLI::App& command, Options& options) {
  add_choice<Refinement>(
      command, "--refinement", options.session.refinement,
      {{"time", Refinement::kTime}, {"paper", Refinement::kPaper}, {"none", Refinement::kNone}},
      "Which branches of a layer run at once: by predicted time (the default), the paper's rule, "
      "or "
      "all");
  command
      .add_option_function<std::string>(
          "--admission",
          [&options](const std::string& name) {
            options.session.admission = name == "paper" ? Admission::kPaper : Admission::kTimeSaved;
          },
          "Which branches run at once where the budget has no room for all: those that save most "
          "time (the default) or, paper, the smallest first")
      ->check(CLI::IsMember({"time", "paper"}))
      ->type_name("NAME");
}

// An option that names an input and a file, as NAME=FILE.
CLI::Option* add_files(CLI::App& command, const char* name, std::vector<std::string>& files,
                       const char* what) {
  return add_repeated(
             command, name,
             [&files, name](const std::string& text) {
               const std::size_t equals = text.find('=');
               if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
                 throw UsageError(fmt::format("{} {}: expected NAME=FILE", name, text));
               files.push_back(text);
             },
             what)
      ->type_name("NAME=FILE");
}

void add_images(CLI::App& command, Options& options) {
  CLI::Option* image =
      add_files(command, "--image", options.images,
                "An input's values from a JPEG, PNG or BMP file, in the size that the input has");
  const auto numbers = [&](const char* name, std::vector<float>& values,
                           const CLI::Validator& range, const char* what) {
    command.add_option(name, values, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(range)
        ->type_name("X[,X,X]")
        ->needs(image);
  };
  numbers("--image-mean", options.image.mean, within(-1e6, 1e6),
          "What is taken off each channel behind the scale (0)");
  numbers("--image-std", options.image.deviation, within(1e-6, 1e6),
          "What each channel is then divided by (1)");
  command
      .add_option("--image-scale", options.image.scale,
                  "What pixels, 0 to 255, are multiplied by (1/255; uint8 inputs: 1)")
      ->check(within(-1e6, 1e6))
      ->type_name("X")
      ->needs(image);
  add_choice<bool>(command, "--image-order", options.image.bgr, {{"rgb", false}, {"bgr", true}},
                   "The order of channels: rgb (the default) or bgr")
      ->needs(image);
  add_choice<ImageFit>(command, "--image-fit", options.image.fit,
                       {{"stretch", ImageFit::kStretch},
                        {"letterbox", ImageFit::kLetterbox},
                        {"crop", ImageFit::kCrop}},
                       "How images get the input's size: stretch (the default), letterbox (whole, "
                       "with grey bars) or crop (the middle)")
      ->needs(image);
}

void add_inputs(CLI::App& command, Options& options) {
  add_files(command, "--input", options.inputs,
            "An input's values from an .npy file, or ONNX's .pb; others are made up");
  command.add_flag("--cast", options.cast,
                   "Convert the numbers of such a file to the type that the input has");
  command.add_option("--seed", options.seed, "Seed of inputs that are made up")
      ->check(within(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("S");
  add_images(command, options);
}

// Inputs that a run reads as the run before left outputs.
CLI::Option* add_ties(CLI::App& command, Options& options) {
  return add_repeated(
             command, "--tie",
             [&options](const std::string& text) {
               const std::size_t equals = text.find('=');
               if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
                 throw UsageError(fmt::format("--tie {}: expected INPUT=OUTPUT", text));
               options.ties.push_back(text);
             },
             "An input that is state: a run reads it as the run before left the output. It begins "
             "with zeros, or what --input gives; may be given several times")
      ->type_name("INPUT=OUTPUT");
}

void add_reset(CLI::App& command, Options& options, CLI::Option* ties) {
  command.add_flag("--reset-state", options.reset_state, "Each run begins with that anew")
      ->needs(ties);
}

void add_library(CLI::App& command, Options& options) {
  add_repeated(
      command, "--delegate-lib",
      [&options](const std::string& file) { options.runtime.delegate_libraries.push_back(file); },
      "A shared object with a further delegate; it is code that runs with your rights")
      ->type_name("FILE");
}

void add_offload(CLI::App& command, Options& options, CLI::Option* delegate) {
  add_choice<Offload>(command, "--offload", options.plan.offload,
                      {{"profitable", Offload::kProfitable}, {"all", Offload::kAll}},
                      "Which regions the delegate gets: those with which the whole is predicted to "
                      "take least, or all that it can run (profitable)")
      ->needs(delegate);
  add_choice<bool>(command, "--co-execution", options.plan.co_execution,
                   {{"on", true}, {"off", false}},
                   "Whether operators may run on the CPU and the delegate at once, some rows of "
                   "their results on each, where that takes less (off)")
      ->needs(delegate);
}

/// What a delegate that runs is planned by.
void add_rates(CLI::App& command, Options& options, CLI::Option* delegate) {
  add_choice<Rates>(command, "--rates", options.session.rates,
                    {{"measured", Rates::kMeasured}, {"described", Rates::kDescribed}},
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

// Throws UsageError where another option leaves nothing that could be split.
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

/// What runs parts of the model beside the CPU.
void add_device(CLI::App& command, Options& options) {
  add_library(command, options);
  CLI::Option* delegate =
      add_repeated(
          command, "--delegate",
          [&options](const std::string& name) { options.delegates.push_back(name); },
          "What runs parts of the model beside the CPU: parallax delegates lists them; a text "
          "behind a colon tells it more. Given several times, each gets what those before it left")
          ->type_name("NAME[:TEXT]");
  add_offload(command, options, delegate);
  add_rates(command, options, delegate);
  command
      .add_option("--delegate-time-limit", options.session.delegate_time_limit_seconds,
                  "Seconds that it may take for one region (10); then the run begins anew without "
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
                  fmt::format("--delegate-memory {}: that is no number of bytes", text));
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

/// What an accelerator gets, for commands that do not run it.
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

// Throws UsageError for a calibration that is missing or of no use.
void check_calibration(const Options& options) {
  const bool measured = options.plan.cost_model == CostModel::kMeasured;
  if (measured && options.plan.calibration.empty())
    throw UsageError("--cost-model measured needs --calibration FILE");
  if (!measured && !options.plan.calibration.empty())
    throw UsageError("--calibration is used by --cost-model measured only");
}

void add_json(CLI::App& command, Options& options, const char* what) {
  command
      .add_option("--json", options.json,
                  fmt::format("Write {} as JSON (- for standard output)", what))
      ->type_name("FILE");
}

void add_info(CLI::App& info, Options& options) {
  add_dims(info, options, 1);
  add_json(info, options, "the same");
}

void add_run(CLI::App& run, Options& options) {
  add_common(run, options, 1);
  add_execution(run, options);
  add_parallelism(run, options);
  add_limits(run, options);
  add_device(run, options);
  add_inputs(run, options);
  add_reset(run, options, add_ties(run, options));
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
  add_reset(bench, options, add_ties(bench, options));
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
    {"delegates", "List what can run parts of models beside the CPU", delegates_command,
     add_delegates}};

}  // namespace

void add_commands(CLI::App& app, Options& options, Command& chosen) {
  for (const CommandRow& row : kCommands) {
    CLI::App* const command = app.add_subcommand(row.name, row.what);
    if (row.command != delegates_command) add_model(*command, options);
    row.add_options(*command, options);
    for (CLI::Option* const option : command->get_options())
      if (option->get_items_expected_max() > 0) option->check(check_not_empty);
    command->callback([&chosen, run = row.command] { chosen = run; });
  }
}

}  // namespace parallax::cli
