// Files that are no ONNX model but often stand where one is expected, known by what they contain.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace parallax {

/// What a file is, with what to do about it: "a Git LFS pointer: ...". Nothing for all others. An
/// ONNX model may look like one of them: ask only about a file that cannot be read.
std::optional<std::string_view> foreign_file(std::span<const std::byte> bytes);

}  // namespace parallax
