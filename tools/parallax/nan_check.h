// Whether NaN goes where it goes in the reference kernels, operator by operator.
#pragma once

#include <span>

#include "parallax/session.h"

namespace parallax::cli {

/// The oracle: plain kernels, one thread, f32; what a run may take is as for the others.
SessionOptions reference_of(SessionOptions options);

/// Random inputs have no NaN, so one goes into each float input. More may come out of `model` than
/// of `unfused` on the plain kernels: minimal filtering adds neighbours to each other. A model that
/// refuses NaN (as an index, say) passes. Errors: kInternal where outputs of `model` are numbers
/// that are NaN in `unfused`'s; of the runs of `model`.
Status check_nan(const Model& model, const Model& unfused, const SessionOptions& options,
                 std::span<const NamedInput> inputs);

}  // namespace parallax::cli
