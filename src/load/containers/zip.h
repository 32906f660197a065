// ZIP archives whose entries are stored: MediaPipe's .task files are such archives. Reads names,
// sizes and places; decompresses nothing and computes no checksum. The archive is an attacker's.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "load/containers/section.h"
#include "parallax/result.h"

namespace parallax {

/// Whether the bytes begin as an archive does, perhaps behind zeros: MediaPipe aligns the first
/// entry with up to four. No ONNX model begins so, since protobuf has no field 0. An archive
/// without entries ("PK\x05\x06") is one too.
bool is_zip(std::span<const std::byte> bytes);

/// Returns the entries in the order of the archive's directory, folders included; compressed ones
/// have Section::compressed. Takes time and memory linear in the size. Guaranteed: entries lie in
/// front of the directory and do not overlap, and each has the same name, method and sizes in the
/// directory and in front of its bytes, where sizes may be 0 if they stand behind the bytes.
/// Errors, of stage kLoad: kInvalidModel for a damaged archive; kUnsupported for one in several
/// files and for encrypted entries. Also kInvalidModel for an entry without a name or with one that
/// check_name() refuses, and for a stored entry with two sizes. Section::is_model is set for stored
/// entries that begin as a TFLite file does. Types are "file", "folder", "compressed file",
/// "TFLiteModel" and "ZIP archive".
Result<std::vector<Section>> read_zip(std::span<const std::byte> bytes);

}  // namespace parallax
