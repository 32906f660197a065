// Outputs that somebody else made, compared with ours: `verify --expected DIR`.
#pragma once

#include "options/options.h"

namespace parallax::cli {

/// Runs the model once and prints the largest error of each output against the file that
/// `options.expected` has for it: the one that outputs.json names, as `run --output-dir` writes it,
/// else 0.npy, 1.npy, ... in the model's order. Errors: of the run and of the files; kInternal
/// where an output differs in type or shape, an integer at all, or a float by more than
/// options.tolerance of the largest magnitude that is expected of its output.
Status verify_expected(const Options& options);

}  // namespace parallax::cli
