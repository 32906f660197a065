// NumPy's .npy files: what `--input` reads and `--output-dir` writes.
#pragma once

#include <filesystem>

#include "parallax/tensor.h"

namespace parallax::cli {

/// Reads a C-order array of one of Parallax's element types. Errors: kIo; kInvalidInput for
/// anything else than that.
Result<Tensor> read_npy(const std::filesystem::path& path);
/// Writes format version 1.0. Errors: kIo.
Status write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace parallax::cli
