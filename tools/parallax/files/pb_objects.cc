#include "files/pb_objects.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <utility>
#include <vector>

#include "files/pb.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;
using Tag = protozero::pbf_tag_type;

// Fields of TensorProto.
constexpr Tag kTensorDims = 1, kTensorType = 2, kTensorStrings = 6, kTensorName = 8;
// Fields of SequenceProto and OptionalProto: the name, the type of the elements, and the elements
// by type.
constexpr Tag kObjectName = 1, kElementType = 2, kTensors = 3, kSequences = 5, kMaps = 6,
              kOptionals = 7;
// Fields of MapProto.
constexpr Tag kMapName = 1, kKeyType = 2, kIntKeys = 3, kStringKeys = 4, kMapValues = 5;

/// The type of elements by SequenceProto's and OptionalProto's numbers, and the field of such.
struct ElementField {
  std::int32_t type;
  Tag field;
};
ElementField field_of_elements(ObjectType type) {
  switch (type) {
    case ObjectType::kTensor:
      return {1, kTensors};
    case ObjectType::kSequence:
      return {3, kSequences};
    case ObjectType::kMap:
      return {4, kMaps};
    case ObjectType::kOptional:
      return {5, kOptionals};
  }
  return {0, 0};
}

Error pb_refused(const fs::path& file, std::string_view what) {
  return {Stage::kFiles, ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", file.string(), what)};
}

protozero::data_view view_of(std::string_view message) { return {message.data(), message.size()}; }

/// Appends the values of a repeated int64 field, packed or one by one.
void append_ints(protozero::pbf_reader& reader, std::vector<std::int64_t>& values) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const std::int64_t value : reader.get_packed_int64()) values.push_back(value);
  } else {
    values.push_back(reader.get_int64());
  }
}

Result<Object> read_strings(std::string_view message, const fs::path& file) {
  std::vector<std::int64_t> dims;
  std::vector<std::string> strings;
  for (protozero::pbf_reader reader(view_of(message)); reader.next();) {
    if (reader.tag() == kTensorDims) {
      append_ints(reader, dims);
    } else if (reader.tag() == kTensorStrings) {
      strings.push_back(reader.get_string());
    } else {
      reader.skip();
    }
  }
  const auto shape = Dims::checked(dims);
  if (!shape) return tl::unexpected(pb_refused(file, shape.error().message));
  auto object = Object::strings(*shape, std::move(strings));
  if (!object)
    object.error().message = fmt::format("{}: {}", file.string(), object.error().message);
  return object;
}

Result<Object> read_tensor(std::string_view message, const fs::path& file) {
  for (protozero::pbf_reader reader(view_of(message)); reader.next();) {
    if (reader.tag() != kTensorType) {
      reader.skip();
    } else if (reader.get_int32() == info_of(DType::kString).onnx) {
      return read_strings(message, file);
    }
  }
  auto tensor = parse_pb_tensor(message, file);
  if (!tensor) return tl::unexpected(tensor.error());
  return Object::tensor(*std::move(tensor));
}

/// One-element tensors as one tensor of them all.
Result<Object> joined(std::span<const Object> elements, DType dtype, const fs::path& file) {
  const Dims dims{static_cast<std::int64_t>(elements.size())};
  for (const Object& element : elements)
    if (element.dtype() != dtype || element.dims().checked_elements() != 1)
      return tl::unexpected(pb_refused(file, "the values of a map are of another type"));
  if (dtype == DType::kString) {
    std::vector<std::string> strings;
    for (const Object& element : elements) strings.push_back(element.strings()[0]);
    return Object::strings(dims, std::move(strings));
  }
  auto tensor = Tensor::allocate(dtype, dims);
  if (!tensor) return tl::unexpected(tensor.error());
  std::byte* to = tensor->mutable_view().bytes.data();
  for (const Object& element : elements) {
    const auto bytes = element.tensor_view().bytes;
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
  return Object::tensor(*std::move(tensor));
}

/// A type that is left: what is around tensors, outermost first.
struct TypeLeft {
  std::span<const ObjectType> types;
  const TensorInfo& info;
};
Result<Object> read_object(std::string_view message, const TypeLeft& type, const fs::path& file);

/// The elements of a SequenceProto or an OptionalProto that are `inside`.
Result<std::vector<Object>> read_elements(std::string_view message, const TypeLeft& inside,
                                          const fs::path& file) {
  const Tag wanted =
      field_of_elements(inside.types.empty() ? ObjectType::kTensor : inside.types[0]).field;
  std::vector<Object> elements;
  for (protozero::pbf_reader reader(view_of(message)); reader.next();) {
    if (reader.tag() < kTensors || reader.tag() > kOptionals) {
      reader.skip();
      continue;
    }
    if (reader.tag() != wanted)
      return tl::unexpected(
          pb_refused(file, fmt::format("is not of type {}", type_text(inside.info))));
    const auto view = reader.get_view();
    auto element = read_object({view.data(), view.size()}, inside, file);
    if (!element) return tl::unexpected(element.error());
    elements.push_back(*std::move(element));
  }
  return elements;
}

Result<Object> read_map(std::string_view message, const TypeLeft& inside, const fs::path& file) {
  std::vector<std::int64_t> ints;
  std::vector<std::string> texts;
  std::vector<Object> values;
  for (protozero::pbf_reader reader(view_of(message)); reader.next();) {
    if (reader.tag() == kIntKeys) {
      append_ints(reader, ints);
    } else if (reader.tag() == kStringKeys) {
      texts.push_back(reader.get_string());
    } else if (reader.tag() == kMapValues) {
      const auto view = reader.get_view();
      auto list = read_elements({view.data(), view.size()}, inside, file);
      if (!list) return tl::unexpected(list.error());
      values = *std::move(list);
    } else {
      reader.skip();
    }
  }
  auto all = joined(values, inside.info.dtype, file);
  if (!all) return all;
  const Dims count{
      static_cast<std::int64_t>(inside.info.key == DType::kString ? texts.size() : ints.size())};
  if (inside.info.key == DType::kString) {
    auto keys = Object::strings(count, std::move(texts));
    return keys ? Object::map(*std::move(keys), *std::move(all)) : keys;
  }
  auto keys = Tensor::allocate(DType::kI64, count);
  if (!keys) return tl::unexpected(keys.error());
  std::ranges::copy(ints, keys->mutable_view().as<std::int64_t>());
  return Object::map(Object::tensor(*std::move(keys)), *std::move(all));
}

Result<Object> read_object(std::string_view message, const TypeLeft& type, const fs::path& file) {
  if (type.types.empty()) return read_tensor(message, file);
  const TypeLeft inside{type.types.subspan(1), type.info};
  if (type.types[0] == ObjectType::kMap) return read_map(message, inside, file);
  auto elements = read_elements(message, inside, file);
  if (!elements) return tl::unexpected(elements.error());
  if (type.types[0] == ObjectType::kSequence) return Object::sequence(*std::move(elements));
  if (elements->empty()) return Object();
  return Object::optional(std::move(elements->front()));
}

std::string pb_strings(std::string_view name, const Object& object) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_packed_int64(kTensorDims, object.dims().begin(), object.dims().end());
  writer.add_int32(kTensorType, info_of(DType::kString).onnx);
  for (const std::string& text : object.strings()) writer.add_bytes(kTensorStrings, text);
  if (!name.empty()) writer.add_string(kTensorName, name.data(), name.size());
  return message;
}

void add_elements(protozero::pbf_writer& writer, std::span<const Object> elements) {
  if (elements.empty()) return;
  const ElementField field = field_of_elements(elements[0].type());
  writer.add_int32(kElementType, field.type);
  for (const Object& element : elements) writer.add_message(field.field, pb_object({}, element));
}

/// Each element of a one-dimensional tensor by itself.
std::vector<Object> elements_apart(const Object& list) {
  std::vector<Object> elements;
  const TensorView whole = list.tensor_view();
  const auto count = static_cast<std::size_t>(whole.dims.elements());
  const auto size = count == 0 ? 0 : whole.bytes.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    if (whole.dtype == DType::kString) {
      elements.push_back(*Object::strings({}, {list.strings()[i]}));
    } else {
      elements.push_back(Object::view({whole.dtype, {}, whole.bytes.subspan(i * size, size)}));
    }
  }
  return elements;
}

void add_map(protozero::pbf_writer& writer, const Object& map) {
  const Object& keys = map.elements()[0];
  writer.add_int32(kKeyType, info_of(keys.dtype()).onnx);
  if (keys.dtype() == DType::kString) {
    for (const std::string& key : keys.strings()) writer.add_bytes(kStringKeys, key);
  } else {
    const auto* const begin = keys.tensor_view().as<std::int64_t>();
    writer.add_packed_int64(kIntKeys, begin, begin + keys.dims().elements());
  }
  std::string values;
  protozero::pbf_writer inside(values);
  add_elements(inside, elements_apart(map.elements()[1]));
  writer.add_message(kMapValues, values);
}

}  // namespace

bool is_object(const TensorInfo& info) {
  return !info.containers.empty() || info.dtype == DType::kString;
}

std::vector<Object> tensors_in(std::span<const Object> objects) {
  std::vector<Object> tensors;
  for (const Object& object : objects) {
    if (object.type() == ObjectType::kTensor) tensors.push_back(object);
    std::ranges::move(tensors_in(object.elements()), std::back_inserter(tensors));
  }
  return tensors;
}

std::string type_text(const TensorInfo& info) {
  std::string text;
  for (const ObjectType type : info.containers) text += std::string(to_string(type)) + " of ";
  return text + std::string(to_string(info.dtype));
}

Result<Object> parse_pb_object(std::string_view message, const TensorInfo& info,
                               const fs::path& file) {
  try {
    return read_object(message, {info.containers, info}, file);
  } catch (const protozero::exception&) {
    return tl::unexpected(pb_refused(file, fmt::format("is not of type {}", type_text(info))));
  }
}

std::string pb_object(std::string_view name, const Object& object) {
  if (object.type() == ObjectType::kTensor) {
    return object.dtype() == DType::kString ? pb_strings(name, object)
                                            : pb_tensor(name, object.tensor_view());
  }
  std::string message;
  protozero::pbf_writer writer(message);
  static_assert(kObjectName == kMapName);
  if (!name.empty()) writer.add_string(kObjectName, name.data(), name.size());
  if (object.type() == ObjectType::kMap) {
    add_map(writer, object);
  } else {
    add_elements(writer, object.elements());
  }
  return message;
}

}  // namespace parallax::cli
