// Files that are no ONNX model but often stand where one is expected, known by what they contain.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace parallax {

/// Returns the kind of a foreign file, with the remedy: "a Git LFS pointer: ..."; else nullopt. An
/// ONNX model may look like one of them: ask only about a file that cannot be read.
std::optional<std::string_view> foreign_file(std::span<const std::byte> bytes);

}  // namespace parallax
