// Tensors of ONNX files whose bytes lie in other files. Thread-safety: not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "base/shared_bytes.h"
#include "load/external_files.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// Returns the `size` bytes that `entries` (location, offset, length) point at. Errors:
/// kInvalidModel for entries that contradict themselves; those of ExternalFiles::read(). Keys are
/// "location" (required), "offset" and "length" (decimal bytes, >= 0; default 0 and the size of the
/// tensor). "checksum" and keys that begin with "prepacked_" are skipped. Any other key, and one
/// that is repeated, is kInvalidModel. `size` comes from the tensor's type and dimensions. The
/// owner in the result keeps the mapping alive.
Result<SharedBytes> read_external(ExternalFiles& files, std::span<const OnnxEntry> entries,
                                  std::int64_t size);

}  // namespace parallax
