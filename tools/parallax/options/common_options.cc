#include "options/common_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "options/option_forms.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const auto& [name, scheduler] : kSchedulers) names.emplace_back(name);
  return names;
}

}  // namespace

void add_model(CLI::App& command, Options& options) {
  command.add_option("MODEL", options.model, "The .onnx, .tflite, .task or .litertlm file")
      ->required()
      ->type_name("");
  command
      .add_option("--max-nesting", options.load.max_nesting,
                  "How deep If, Loop and Scan may lie inside each other (16)")
      ->check(within(0, 64))
      ->type_name("N");
  command
      .add_option("--section", options.load.section,
                  "The model that runs, of a .task or .litertlm file with several; info lists them")
      ->type_name("NAME");
}

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

void add_signature(CLI::App& command, Options& options) {
  command
      .add_option("--signature", options.load.signature,
                  "The signature of a TFLite file that runs; by default its first subgraph")
      ->type_name("NAME");
}

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
  add_signature(command, options);
  add_repeated(
      command, "--disable-pass",
      [&options](const std::string& name) { options.load.disabled_passes.push_back(name); },
      "A pass over the graph to leave out; may be given several times")
      ->check(CLI::IsMember(Model::passes()))
      ->type_name("NAME");
}

void add_execution(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>(
          "--scheduler",
          [&options](const std::string& name) {
            for (const auto& [known, scheduler] : kSchedulers)
              if (name == known) options.session.scheduler = scheduler;
          },
          "How nodes are run: dataflow (branches in parallel, the default), layers (the same with "
          "a barrier after each layer) or sequential")
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
      .add_option_function<double>(
          "--time-limit",
          [&options](double seconds) { options.session.time_limit_ms = seconds * 1e3; },
          "Seconds after which a run stops with an error; 0, the default: no limit")
      ->check(within(0.0, 1e8))
      ->type_name("S");
}

void add_parallelism(CLI::App& command, Options& options) {
  add_choice<Refinement>(
      command, "--refinement", options.session.refinement,
      {{"time", Refinement::kTime}, {"paper", Refinement::kPaper}, {"none", Refinement::kNone}},
      "Which branches of a layer run in parallel: by predicted time (the default), the paper's "
      "rule, or all");
  command
      .add_option_function<std::string>(
          "--admission",
          [&options](const std::string& name) {
            options.session.admission = name == "paper" ? Admission::kPaper : Admission::kTimeSaved;
          },
          "Which branches run in parallel if the budget has no room for all: those that save most "
          "time (the default) or, paper, the smallest first")
      ->check(CLI::IsMember({"time", "paper"}))
      ->type_name("NAME");
}

void add_json(CLI::App& command, Options& options, const char* what) {
  command
      .add_option("--json", options.json,
                  fmt::format("Write {} as JSON (- for standard output)", what))
      ->type_name("FILE");
}

}  // namespace parallax::cli
