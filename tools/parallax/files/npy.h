// NumPy's .npy files: what `--input` reads and `--output-dir` writes.
#pragma once

#include <filesystem>
#include <optional>

#include "parallax/tensor.h"

namespace parallax::cli {

/// Reads an array, in C or Fortran order, of one of Parallax's element types; bytes whose type
/// NumPy lacks as those of `meant`, where that is such a type of their size. Errors: kIo;
/// kInvalidInput for anything else than that.
Result<Tensor> read_npy(const std::filesystem::path& path,
                        std::optional<DType> meant = std::nullopt);
/// Reads one of the type `wanted`, or with `cast` one of any type of numbers, as `wanted`. Errors:
/// as read_npy; kInvalidInput for another type without `cast`, and for an element that `wanted`
/// cannot hold (floats are rounded).
Result<Tensor> read_npy_as(const std::filesystem::path& path, DType wanted, bool cast);
/// Writes format version 1.0. Errors: kIo.
Status write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace parallax::cli
