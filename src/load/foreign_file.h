// Files that are no ONNX model but often stand where one is expected, known by what they contain.
// Thread-safety: pure function.
//
// Called only on the way to an error: by the ONNX loader for bytes that do not parse, and for
// external files that are too short. Known: Git LFS pointers, ONNX Runtime's .ort, ZIP archives,
// GGUF, HTML pages and safetensors. Reads the first bytes and the size only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace parallax {

/// Returns the kind of a foreign file, with the remedy: "a Git LFS pointer: ..."; else nullopt. An
/// ONNX model may look like one of them: ask only about a file that cannot be read. The text is a
/// literal, which fits behind "not an ONNX model but" or "which is".
std::optional<std::string_view> foreign_file(std::span<const std::byte> bytes);

}  // namespace parallax
