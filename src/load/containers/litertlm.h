// LiteRT-LM files (.litertlm): models and other parts of a language model, each a section; writers
// place them at multiples of 16 KiB, readers do not require it. The header of major version 1 is
// read (litertlm_schema.fbs); its layout is as LiteRT-LM's public schema and reader have it. The
// file is an attacker's. Thread-safety: pure functions.
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
/// as "tf_lite_prefill_decode", other sections that of their type. If an earlier section has the
/// name, a space and the section's number, counted from 0, follow: "TFLiteModel 3". Takes time and
/// memory linear in the size of the header. Guaranteed: sections lie behind the header and do not
/// overlap. Errors, of stage kLoad: kInvalidModel for a damaged file; kUnsupported for other
/// versions.
Result<std::vector<Section>> read_litertlm(std::span<const std::byte> bytes);

}  // namespace parallax
