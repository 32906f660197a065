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

/// Returns a constant that owns a copy of the strings; nullopt if there are not as many as `dims`
/// say, or one is longer than 32 bits tell. Any bytes are accepted.
std::optional<Constant> make_strings(const Dims& dims, std::span<const std::string_view> strings);
/// Returns the strings of a constant; nullopt if its type is not string, or its bytes are not those
/// of as many strings: they may come from a file.
std::optional<std::vector<std::string>> strings_of(const Constant& constant);

}  // namespace parallax
