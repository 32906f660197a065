// Inputs that a run reads as the previous run left outputs: those of --tie, and the model's own.
#pragma once

#include <optional>
#include <vector>

#include "inputs/inputs.h"
#include "options/options.h"
#include "parallax/state.h"

namespace parallax::cli {

/// Returns the pairs of --tie. Throws UsageError for names that the model does not have.
std::vector<Tie> ties_of(const Options& options, const Model& model);

/// A State that begins with what `inputs` have for tied inputs; nullopt if nothing is tied, neither
/// by --tie nor by the model. Errors: of State::create() and State::set(). Throws UsageError if
/// there is nothing for --reset-state.
Result<std::optional<State>> make_state(const Options& options, const Model& model,
                                        const Session& session, const Inputs& inputs);
/// Sets the tied inputs to their initial values.
Status begin_state(State& state, const Inputs& inputs);

/// With the state, where there is one.
RunOptions run_options(std::optional<State>& state, bool tied_outputs);

}  // namespace parallax::cli
