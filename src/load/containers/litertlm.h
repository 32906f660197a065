// LiteRT-LM files (.litertlm): models and other parts of a language model, each a section; writers
// place them at multiples of 16 KiB, readers do not require it. The header of major version 1 is
// read (litertlm_schema.fbs); its layout is as LiteRT-LM's public schema and reader have it. The
// file is an attacker's. Thread-safety: pure functions.
//
// Limits: the header has at most 1 MiB and its tables are at most 16 deep; items of all sections
// together may have as many entries, plus characters of model types, as the header has bytes, since
// tables of a flatbuffer may share them. The header is copied to aligned memory for the check;
// sections are not copied.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "load/containers/section.h"
#include "parallax/result.h"

namespace parallax {

/// Whether the bytes begin as a LiteRT-LM file does. No ONNX model begins so: "L" would end a group
/// of protobuf that has not begun. They are the 8 characters "LITERTLM".
bool is_litertlm(std::span<const std::byte> bytes);

/// Returns the format with its version: "LiteRT-LM 1.4.0". REQUIRES: is_litertlm(bytes), and that
/// read_litertlm() has read them.
std::string litertlm_format(std::span<const std::byte> bytes);

/// Returns the sections in the header's order. A model has the name in its item `model_type`, such
/// as "tf_lite_prefill_decode", other sections that of their type. If an earlier section has the
/// name, a space and the section's number, counted from 0, follow: "TFLiteModel 3". Takes time and
/// memory linear in the size of the header. Guaranteed: sections lie behind the header and do not
/// overlap. Errors, of stage kLoad: kInvalidModel for a damaged file; kUnsupported for other
/// versions. FileSection::is_model is set for a section of type TFLiteModel whose bytes begin as a
/// TFLite file does; those of other types are listed only. Names that check_name() refuses are
/// kInvalidModel. Sections point into `bytes`.
Result<std::vector<Section>> read_litertlm(std::span<const std::byte> bytes);

}  // namespace parallax
