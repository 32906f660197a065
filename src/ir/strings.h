// Constants of strings. Their bytes are the length of each string, 32 bits little-endian, and then
// the strings. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// Nothing where there are not as many as `dims` say, or one is longer than 32 bits tell.
std::optional<Constant> make_strings(const Dims& dims, std::span<const std::string_view> strings);
/// Returns the strings of a constant; nullopt if its type is not string.
std::optional<std::vector<std::string>> strings_of(const Constant& constant);

}  // namespace parallax
