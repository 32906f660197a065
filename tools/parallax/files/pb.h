// Tensors as ONNX writes them, messages of type TensorProto: `--input NAME=FILE.pb` and
// `--output-format pb`. They have every element type, which .npy files have not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "parallax/tensor.h"

namespace parallax::cli {

/// The tensor of a message; `file` is for errors. Errors: kInvalidInput for anything else than a
/// dense tensor of one of Parallax's element types that has all its elements in the message.
Result<Tensor> parse_pb_tensor(std::string_view message, const std::filesystem::path& file);
/// The message; `name` may be empty.
std::string pb_tensor(std::string_view name, const TensorView& tensor);

/// All bytes of a file. Errors: kIo.
Result<std::string> read_pb(const std::filesystem::path& file);
/// Whether the name of the file ends in .pb.
bool is_pb(const std::filesystem::path& file);

}  // namespace parallax::cli
