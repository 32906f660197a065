// What regions read and make of someone else's memory: inputs and outputs of the graph, which are
// the caller's or those of the node that runs a body. A device gets bytes of the plan's block in
// their place. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/compiled.h"

namespace parallax {

/// Graph inputs that regions read and graph outputs that they read or make, by root, each once.
std::vector<ValueId> staged_values(const Compiled& compiled);

/// What `id`, one of them, takes, rounded to kAlignment; nothing if that does not fit 63 bits.
std::optional<std::int64_t> staged_bytes(const Compiled& compiled, ValueId id);
/// What all of them take.
std::optional<std::int64_t> staged_bytes(const Compiled& compiled);

}  // namespace parallax
