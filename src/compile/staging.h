// Values of regions in memory that is not the plan's: inputs and outputs of the graph, which belong
// to the caller or to the node that runs a body. A device uses staging bytes of the plan's block in
// their place. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/compiled.h"

namespace parallax {

/// Returns the graph inputs that regions read and graph outputs that they read or compute, as
/// roots, each once. Values whose size only a run determines are not among them. In the order in
/// which nodes use them; empty without regions.
std::vector<ValueId> staged_values(const Compiled& compiled);

/// Returns the bytes for `id`, one of staged_values(), rounded to kAlignment; nullopt if they do
/// not fit 63 bits.
std::optional<std::int64_t> staged_bytes(const Compiled& compiled, ValueId id);
/// Returns the bytes for all of them. 0 if there are none; nullopt if the sum does not fit 63 bits.
std::optional<std::int64_t> staged_bytes(const Compiled& compiled);

}  // namespace parallax
