// State of the tool: inputs whose value in a run is an output of the previous run. --tie names
// them, or the model does. Called by the commands that run models. Not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "inputs/inputs.h"
#include "options/options.h"
#include "parallax/state.h"

namespace parallax::cli {

/// Returns the pairs of --tie. Throws UsageError for names that the model does not have.
std::vector<Tie> ties_of(const Options& options, const Model& model);

/// Returns a State whose tied inputs have their initial values (begin_state()); nullopt if no input
/// is tied, neither by --tie nor by the model. Errors: those of State::create() and State::set().
/// Throws UsageError if --reset-state is given but no input is tied.
Result<std::optional<State>> make_state(const Options& options, const Model& model,
                                        const Session& session, const Inputs& inputs);
/// Resets the state, then sets its inputs to the tensors of `inputs`, except those for which the
/// model has an initial value that counts (Inputs::first). Errors: those of State::set().
Status begin_state(State& state, const Inputs& inputs);

/// Returns options of a run with `state`, which must outlive them, or without one if it is nullopt.
/// `tied_outputs`: RunOptions::tied_outputs.
RunOptions run_options(std::optional<State>& state, bool tied_outputs);

}  // namespace parallax::cli
