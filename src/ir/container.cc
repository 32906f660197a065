#include "ir/container.h"

#include <algorithm>
#include <span>

namespace parallax {

ContainerType wrap(ObjectType type, const Container& inside) {
  auto result = std::make_shared<Container>(inside);
  result->types.insert(result->types.begin(), type);
  return result;
}

Container unwrap(const Container& container) {
  Container result = container;
  result.types.erase(result.types.begin());
  return result;
}

void join_tensors(Container& into, const Container& other) {
  if (!other.filled) return;
  if (!into.filled) {
    into.filled = true;
    into.dims = other.dims;
    return;
  }
  if (!into.dims || !other.dims || into.dims->size() != other.dims->size()) {
    into.dims.reset();
    return;
  }
  for (std::size_t i = 0; i < into.dims->size(); ++i)
    if ((*into.dims)[i] != (*other.dims)[i]) (*into.dims)[i] = -1;
}

namespace {

bool is_optional_of(const Container& optional, const Container& element) {
  return optional.types[0] == ObjectType::kOptional &&
         std::ranges::equal(std::span(optional.types).subspan(1), element.types);
}

}  // namespace

ContainerType join(const ContainerType& a, const ContainerType& b) {
  if (a == nullptr || b == nullptr) return nullptr;
  if (a == b || *a == *b) return a;
  const bool maps = std::ranges::find(a->types, ObjectType::kMap) != a->types.end();
  if (maps && a->key != b->key) return nullptr;
  // A value that is optional in one of the two types may be missing.
  if (is_optional_of(*a, *b)) return join(a, wrap(ObjectType::kOptional, *b));
  if (is_optional_of(*b, *a)) return join(wrap(ObjectType::kOptional, *a), b);
  if (a->types != b->types) return nullptr;
  auto result = std::make_shared<Container>(*a);
  join_tensors(*result, *b);
  return result;
}

bool same(const ContainerType& a, const ContainerType& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

std::string to_string(const Container& container, DType dtype) {
  std::string text;
  for (const ObjectType type : container.types) {
    text += to_string(type);
    if (type == ObjectType::kMap) text += "_" + std::string(info_of(container.key).text);
    text += ' ';
  }
  text += std::string(info_of(dtype).text) + ' ';
  if (!container.filled) return text + "none";
  if (!container.dims) return text + "any";
  text += '[';
  for (const std::int64_t dim : *container.dims) {
    if (text.back() != '[') text += ", ";
    text += dim < 0 ? "_" : std::to_string(dim);
  }
  return text + ']';
}

}  // namespace parallax
