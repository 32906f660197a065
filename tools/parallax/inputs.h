// Inputs of a run: read from files or made up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "options.h"

namespace parallax::cli {

/// Tensors for every input of a model, owned.
struct Inputs {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;

  /// Views for Session::run; valid while this object is.
  std::vector<NamedInput> views() const;
};

/// Reads the files of --input and --image by name, for run `run`, and binds the symbols that their
/// shapes tell in `values`. Errors: kInvalidInput, kIo. Throws UsageError for inputs that the model
/// does not have and where --dim or --shape contradicts a file of --input.
Result<std::map<std::string, Tensor>> read_input_files(const Options& options, const Model& model,
                                                       SymbolValues& values, std::size_t run = 0);

/// The same, and makes up the other inputs: floats in [0, 1), integers 1 to 9, booleans true, the
/// same for the same seed. Errors: also kUnboundSymbol.
Result<Inputs> make_inputs(const Options& options, const Model& model, const Session& session,
                           SymbolValues& values, std::size_t run = 0);

}  // namespace parallax::cli
