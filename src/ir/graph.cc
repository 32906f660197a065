#include "ir/graph.h"

#include <array>
#include <cstring>
#include <new>
#include <unordered_map>

#include "base/checked.h"
#include "ir/dtype_sets.h"

namespace parallax {
namespace {

constexpr std::array<std::string_view, kOpCount> kOpNames = {
#define PX_OP(name) #name,
#include "ir/op_kinds.def"
#undef PX_OP
};

template <class T>
std::vector<std::int64_t> widen(const Constant& constant) {
  std::vector<std::int64_t> result(constant.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    T element;
    std::memcpy(&element, constant.bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = element;
  }
  return result;
}

}  // namespace

std::string_view to_string(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kOpCount ? kOpNames[index] : "unknown";
}

std::optional<OpKind> op_from_string(std::string_view name) {
  static const auto* table = [] {
    auto map = std::make_unique<std::unordered_map<std::string_view, OpKind>>();
    for (std::size_t i = 0; i < kOpCount; ++i) map->emplace(kOpNames[i], static_cast<OpKind>(i));
    return map.release();
  }();
  const auto found = table->find(name);
  if (found == table->end()) return std::nullopt;
  return found->second;
}

Constant make_constant(DType dtype, const Dims& dims, std::span<const std::byte> bytes) {
  constexpr std::align_val_t kAlign{static_cast<std::size_t>(kAlignment)};
  std::shared_ptr<void> owner(::operator new(bytes.size() + 1, kAlign),
                              [](void* p) { ::operator delete(p, kAlign); });
  if (!bytes.empty()) std::memcpy(owner.get(), bytes.data(), bytes.size());
  const std::span<const std::byte> copy(static_cast<const std::byte*>(owner.get()), bytes.size());
  return {dtype, dims, copy, std::move(owner)};
}

Constant make_i64(std::span<const std::int64_t> elements) {
  return make_constant(DType::kI64, Dims{static_cast<std::int64_t>(elements.size())},
                       std::as_bytes(elements));
}

Value constant_value(std::string name, Constant constant) {
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::kConstant;
  value.dtype = constant.dtype;
  value.shape.assign(constant.dims.begin(), constant.dims.end());
  value.constant = std::move(constant);
  return value;
}

std::optional<std::vector<std::int64_t>> integers(const Constant& constant, std::size_t limit) {
  using Integers = std::optional<std::vector<std::int64_t>>;
  return dispatch<kContentTypes>(constant.dtype, [&](auto type) -> Integers {
    using T = typename decltype(type)::type;
    if (constant.bytes.size() / sizeof(T) > limit) return std::nullopt;
    if constexpr (!std::is_same_v<T, bool>) {
      return widen<T>(constant);
    } else {
      // Read as bytes: a file may hold any byte, a C++ bool may not.
      auto result = widen<std::uint8_t>(constant);
      for (std::int64_t& element : result) element = element != 0;
      return result;
    }
  });
}

const Attributes::Values& Attributes::values() const {
  static const Values kNone;
  return values_ ? *values_ : kNone;
}

void Attributes::set(std::string name, AttributeValue value) {
  if (!values_) values_.emplace();
  values_->insert_or_assign(std::move(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  if (!values_) return;
  const auto found = values_->find(name);
  if (found != values_->end()) values_->erase(found);
}

const AttributeValue* Attributes::find(std::string_view name) const {
  if (!values_) return nullptr;
  const auto found = values_->find(name);
  return found == values_->end() ? nullptr : &found->second;
}

std::vector<std::string> Graph::symbol_names() const {
  std::vector<std::string> names;
  names.reserve(symbols.size());
  for (const SymbolId id : symbols.ids()) names.push_back(symbols[id].name);
  return names;
}

SymbolId Graph::symbol(std::string_view name_of_symbol, SymbolKind kind) {
  for (const SymbolId id : symbols.ids()) {
    if (symbols[id].name == name_of_symbol) return id;
  }
  return symbols.push_back(Symbol{std::string(name_of_symbol), kind});
}

IdVector<ValueId, std::vector<NodeId>> consumers(const Graph& graph) {
  IdVector<ValueId, std::vector<NodeId>> result(graph.values.size());
  for (const NodeId node : graph.nodes.ids()) {
    for (const ValueId input : graph.nodes[node].inputs) {
      if (!input.valid()) continue;
      auto& readers = result[input];
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
  }
  return result;
}

std::string to_string(const Shape& shape, std::span<const std::string> names) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const Expr& dim : shape) {
    if (!text.empty()) text += 'x';
    const std::string one = dim.to_string(names);
    const bool compound = one.find(' ') != std::string::npos && one.back() != ')';
    text += compound ? "(" + one + ")" : one;
  }
  return text;
}

}  // namespace parallax
