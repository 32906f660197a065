// Checks of LoadOptions::inputs for the loaders of all formats. All errors are of stage kLoad.
// Thread-safety: pure functions.
//
// LoadOptions::inputs states the sizes of inputs before the graph is built, so that dimensions
// become numbers. The loaders call these checks with the names of the model's inputs; sizes are
// elements along a dimension, -1 leaves the dimension as the file has it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "parallax/options.h"
#include "parallax/result.h"

namespace parallax {

/// Returns kInvalidInput: "input 'name' " and `why`. Names longer than 120 bytes are shortened in
/// the message.
tl::unexpected<Error> refuse_known_input(const KnownInput& known, std::string_view why);

/// Errors: kInvalidInput for a name that is given twice or not among `names`. O(known * names).
Status check_known_inputs(std::span<const KnownInput> known,
                          std::span<const std::string_view> names);

/// Errors: kInvalidInput for sizes below -1, and for another number of them than `rank`. REQUIRES:
/// known.dims.
Status check_known_dims(const KnownInput& known, std::size_t rank);

}  // namespace parallax
