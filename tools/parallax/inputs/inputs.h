// Inputs of a run: read from files or made up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "options/options.h"

namespace parallax::cli {

/// Tensors for every input of a model, owned.
struct Inputs {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  std::vector<Object> objects;  ///< in place of tensors where the model wants those
  std::vector<bool> tied;       ///< inputs that a State has
  std::vector<bool> first;      ///< tied inputs that begin as the model says

  /// Views for Session::run; of inputs that are not tied; valid while this object is.
  std::vector<NamedInput> views() const;
  /// Views of all inputs, tied ones included.
  std::vector<NamedInput> all_views() const;
};

/// Reads the files of --input and --image by name, for run `run`, and binds the symbols that their
/// shapes tell in `values`. Errors: kInvalidInput, kIo. Throws UsageError for inputs that the model
/// does not have and where --dim or --shape contradicts a file of --input.
Result<std::map<std::string, Tensor>> read_input_files(const Options& options, const Model& model,
                                                       SymbolValues& values, std::size_t run = 0);

/// Likewise, and makes up the other inputs: floats in [0, 1), integers 1 to 9, booleans true, the
/// same for the same seed; strings are the texts of such integers. Tied inputs are zeros. Errors:
/// also kUnboundSymbol, and kInvalidInput if a sequence, an optional or a map is not given, or if
/// the made-up inputs have more than 2^27 elements.
Result<Inputs> make_inputs(const Options& options, const Model& model, const Session& session,
                           SymbolValues& values, std::size_t run = 0);

}  // namespace parallax::cli
