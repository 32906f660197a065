// Checks of LoadOptions::inputs for the loaders of all formats. All errors are of stage kLoad.
// Thread-safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "parallax/options.h"
#include "parallax/result.h"

namespace parallax {

/// Returns kInvalidInput: "input 'name' " and `why`.
tl::unexpected<Error> refuse_known_input(const KnownInput& known, std::string_view why);

/// Errors: kInvalidInput for a name that is given twice or not among `names`.
Status check_known_inputs(std::span<const KnownInput> known,
                          std::span<const std::string_view> names);

/// Errors: kInvalidInput for sizes below -1, and for another number of them than `rank`. REQUIRES:
/// known.dims.
Status check_known_dims(const KnownInput& known, std::size_t rank);

}  // namespace parallax
