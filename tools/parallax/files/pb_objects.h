// Sequences, optionals, maps and tensors of strings as ONNX writes them: messages of type
// SequenceProto, OptionalProto, MapProto and TensorProto.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/model.h"
#include "parallax/object.h"

namespace parallax::cli {

/// Whether values of the type are objects.
bool is_object(const TensorInfo& info);
/// The tensors in objects, in order; those of strings too.
std::vector<Object> tensors_in(std::span<const Object> objects);
/// "sequence of float32", "optional sequence of string".
std::string type_text(const TensorInfo& info);
/// The value of a message that is of `info`'s type; `file` is for errors. Errors: kInvalidInput.
Result<Object> parse_pb_object(std::string_view message, const TensorInfo& info,
                               const std::filesystem::path& file);
/// The message of a value of any type.
std::string pb_object(std::string_view name, const Object& object);

}  // namespace parallax::cli
