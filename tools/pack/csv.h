// Packing problems as comma-separated text: a header that names the columns `lower`, `upper` and
// `size` in any order, then one buffer per line. A buffer lives in [lower, upper). Other columns,
// such as `id`, are not looked at, except those of constraints that the packing does not know
// (`alignment`, `gaps`, `offset`, `hint`), which are refused if they say anything.
#pragma once

#include <string_view>
#include <vector>

#include "memory/packing/packing.h"

namespace parallax {

/// Errors (kInvalidInput, one line that names the line at fault): no header, a column missing or
/// named twice, a field missing, not a decimal integer or out of 64 bits.
Result<std::vector<PackingBuffer>> parse_packing_csv(std::string_view text);

}  // namespace parallax
