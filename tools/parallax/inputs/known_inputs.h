// Sizes of inputs on the command line that decide how a model is loaded.
#pragma once

#include <optional>
#include <vector>

#include "options/options.h"

namespace parallax::cli {

/// Returns the LoadOptions::inputs with which a model, which was `loaded` or could not be, is
/// loaded as --dim, --shape and --input ask; empty if none is needed. They are needed if loading
/// failed; if options.loads_with_sizes is set; if --input names an input with a default; and if
/// --shape gives one dimension two sizes.
std::vector<KnownInput> known_inputs(const Options& options, const Result<Model>& loaded);

/// Whether a command that ended with `error` may succeed with options.loads_with_sizes: the model
/// was loaded without the sizes of the command line, and the run does not cover them.
bool may_load_with_sizes(const Options& options, const Error& error);

/// Whether an input of the file has a dimension of that name.
bool names_dimension(const Options& options, const std::string& name);

}  // namespace parallax::cli
