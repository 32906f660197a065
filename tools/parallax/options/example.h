// Command lines that work, for a user who left something out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options/options.h"

namespace parallax::cli {

/// A word as a shell takes it: quoted if it holds more than letters, digits and plain signs.
std::string shell_word(std::string_view word);

/// Values for the free dimensions of `model` that `known` lacks: those of usual batches, lengths
/// and images that the model can be planned with. Errors: of the first plan, if no plan can be
/// made.
Result<std::vector<DimValue>> example_dims(const Model& model, const SymbolValues& known);
/// " --dim batch=1 --dim seq=16".
std::string dim_options(const std::vector<DimValue>& dims);

/// The command line of `options` with a --dim for each dimension that has no value yet; empty where
/// none is known that would do.
std::string complete_command(const Options& options);

}  // namespace parallax::cli
