#include "parallax/object.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace parallax {
namespace {

tl::unexpected<Error> no_object(std::string message) {
  return tl::unexpected(Error{Stage::kFiles, ErrorCode::kInvalidInput, {}, std::move(message)});
}

}  // namespace

struct Object::Contents {
  ObjectType type = ObjectType::kTensor;
  TensorView tensor = {};  ///< without bytes if it has strings
  std::vector<std::string> strings = {};
  std::vector<Object> elements = {};
  std::shared_ptr<const void> owner = nullptr;

  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  /// Objects inside objects, however deep, go without recursion.
  ~Contents() {
    std::vector<Object> last;
    std::swap(last, elements);
    while (!last.empty()) {
      const Object one = std::move(last.back());
      last.pop_back();
      if (one.contents_.use_count() != 1) continue;
      auto& inner = const_cast<Contents&>(*one.contents_).elements;
      std::ranges::move(inner, std::back_inserter(last));
      inner.clear();
    }
  }
};

std::string_view to_string(ObjectType type) {
  switch (type) {
    case ObjectType::kTensor:
      return "tensor";
    case ObjectType::kSequence:
      return "sequence";
    case ObjectType::kOptional:
      return "optional";
    case ObjectType::kMap:
      return "map";
  }
  return "unknown";
}

Object Object::view(const TensorView& tensor, std::shared_ptr<const void> owner) {
  auto contents = std::make_shared<Contents>();
  contents->tensor = tensor;
  contents->owner = std::move(owner);
  return Object(std::move(contents));
}

Object Object::tensor(Tensor tensor) {
  const auto owner = std::make_shared<const Tensor>(std::move(tensor));
  return view(owner->view(), owner);
}

Result<Object> Object::strings(const Dims& dims, std::vector<std::string> strings,
                               std::shared_ptr<const void> owner) {
  if (dims.checked_elements() != std::ssize(strings)) {
    return no_object(
        fmt::format("{} strings for a tensor of shape {}", strings.size(), dims.to_string()));
  }
  auto contents = std::make_shared<Contents>();
  contents->tensor = {DType::kString, dims, {}};
  contents->strings = std::move(strings);
  contents->owner = std::move(owner);
  return Object(std::move(contents));
}

Object Object::sequence(std::vector<Object> elements, std::shared_ptr<const void> owner) {
  auto contents = std::make_shared<Contents>();
  contents->type = ObjectType::kSequence;
  contents->elements = std::move(elements);
  contents->owner = std::move(owner);
  return Object(std::move(contents));
}

Object Object::optional(Object element) {
  auto contents = std::make_shared<Contents>();
  contents->type = ObjectType::kOptional;
  contents->elements.push_back(std::move(element));
  return Object(std::move(contents));
}

Result<Object> Object::map(Object keys, Object values) {
  const auto is_list = [](const Object& object) {
    return object.type() == ObjectType::kTensor && object.dims().rank() == 1;
  };
  if (!is_list(keys) || !is_list(values) || keys.dims() != values.dims() ||
      (keys.dtype() != DType::kI64 && keys.dtype() != DType::kString))
    return no_object("a map has keys of int64 or strings, and as many values");
  auto contents = std::make_shared<Contents>();
  contents->type = ObjectType::kMap;
  contents->elements.push_back(std::move(keys));
  contents->elements.push_back(std::move(values));
  return Object(std::move(contents));
}

ObjectType Object::type() const {
  return contents_ == nullptr ? ObjectType::kOptional : contents_->type;
}
DType Object::dtype() const { return tensor_view().dtype; }
const Dims& Object::dims() const {
  static const Dims kNone;
  return contents_ == nullptr ? kNone : contents_->tensor.dims;
}
TensorView Object::tensor_view() const {
  return contents_ == nullptr ? TensorView() : contents_->tensor;
}
std::span<const std::string> Object::strings() const {
  return contents_ == nullptr ? std::span<const std::string>() : contents_->strings;
}
std::span<const Object> Object::elements() const {
  return contents_ == nullptr ? std::span<const Object>() : contents_->elements;
}

}  // namespace parallax
