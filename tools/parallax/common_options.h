// The options that most commands share: the model, its sizes, how it is run, and JSON.
#pragma once

#include <cstddef>

#include "options.h"

namespace CLI {
class App;
}

namespace parallax::cli {

void add_model(CLI::App& command, Options& options);

/// `values`: the most that --dim takes.
void add_dims(CLI::App& command, Options& options, std::size_t values);

/// What every command but info takes.
void add_common(CLI::App& command, Options& options, std::size_t values);

/// What verify goes through by itself.
void add_execution(CLI::App& command, Options& options);

void add_limits(CLI::App& command, Options& options);

/// Which branches run at once.
void add_parallelism(CLI::App& command, Options& options);

/// `what`: what is written.
void add_json(CLI::App& command, Options& options, const char* what);

}  // namespace parallax::cli
