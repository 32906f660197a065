// The options that most commands share: the model, its sizes, how it is run, and JSON.
#pragma once

#include <cstddef>

#include "options/options.h"

namespace CLI {
class App;
}

namespace parallax::cli {

void add_model(CLI::App& command, Options& options);

/// `values`: the most that --dim takes.
void add_dims(CLI::App& command, Options& options, std::size_t values);

void add_signature(CLI::App& command, Options& options);

/// Adds the options of every command but info.
void add_common(CLI::App& command, Options& options, std::size_t values);

/// Adds the options that verify varies by itself.
void add_execution(CLI::App& command, Options& options);

void add_limits(CLI::App& command, Options& options);

/// Adds the options that choose the branches to run in parallel.
void add_parallelism(CLI::App& command, Options& options);

/// `what`: what is written.
void add_json(CLI::App& command, Options& options, const char* what);

}  // namespace parallax::cli
