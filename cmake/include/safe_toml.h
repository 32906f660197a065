#pragma once

// toml++ for text of unknown origin, the same for everybody who includes it. Two of its macros say
// what text cannot do, and some text does: undefined behaviour, of which the parser would find out
// itself a little later.

#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(condition) static_assert(true)  // e.g. "[!"

#include <toml++/impl/forward_declarations.h>
// What tells the kind of a character calls most of U+00A1 to U+0499 impossible, and others.
#pragma push_macro("TOML_UNREACHABLE")
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#pragma pop_macro("TOML_UNREACHABLE")

#include <toml++/toml.h>

#include <string_view>
#include <utility>

#include "toml_depth.h"

namespace parallax {

/// Parses text of unknown origin. Nothing else calls toml::parse(): it recurses without bound.
inline toml::parse_result parse_toml_text(std::string_view text) {
  if (auto deep = find_deep_toml(text))
    return toml::parse_result(
        toml::parse_error(std::move(deep->problem), toml::source_position{deep->line, 1}));
  return toml::parse(text);
}

}  // namespace parallax
