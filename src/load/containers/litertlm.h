// LiteRT-LM files (.litertlm): models and what else a language model needs, each a section at a
// multiple of 16 KiB. The header of major version 1 is read (litertlm_schema.fbs); its layout is as
// LiteRT-LM's public schema and reader have it. The file is an attacker's.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "load/containers/section.h"
#include "parallax/result.h"

namespace parallax {

/// Whether the bytes begin as a LiteRT-LM file does. No ONNX model begins so: "L" would end a group
/// of protobuf that has not begun.
bool is_litertlm(std::span<const std::byte> bytes);

/// Returns the format with its version: "LiteRT-LM 1.4.0". REQUIRES: is_litertlm(bytes), and that
/// read_litertlm() has read them.
std::string litertlm_format(std::span<const std::byte> bytes);

/// Returns the sections in the header's order. A model has the name in its item `model_type`, such
/// as "tf_lite_prefill_decode", other sections that of their type; a name that an earlier section
/// has is followed by the section's number, the first of which is 0. Takes time and memory linear
/// in the size of the header. Guaranteed: sections lie behind the header and do not overlap.
/// Errors, of stage kLoad: kInvalidModel for a damaged file; kUnsupported for other versions.
Result<std::vector<Section>> read_litertlm(std::span<const std::byte> bytes);

}  // namespace parallax
