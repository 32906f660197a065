// Where a generator's tensors come from: inputs of the graph, constants, and shapes that are
// computed while running.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "generator.h"
#include "ir/elements.h"
#include "ops/op.h"

namespace parallax::fuzz {
namespace {

constexpr std::size_t kMaxInputs = 12;

template <class T>
Constant tensor_of(DType dtype, const Dims& dims, const std::vector<T>& elements) {
  return make_constant(dtype, dims, std::as_bytes(std::span(elements)));
}

Constant integer_tensor(DType dtype, const Dims& dims, const std::vector<std::int64_t>& elements) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(bytes_of(dtype, std::ssize(elements)).value_or(0)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    store_integer(dtype, elements[i], bytes.data(), i);
  return make_constant(dtype, dims, bytes);
}

bool all_equal(const Lists& lists) {
  return std::ranges::all_of(lists, [&](const auto& list) { return list == lists.front(); });
}

/// Elements of the largest tensor with one more axis of these sizes.
std::int64_t most_of(const Lists& dims, const std::vector<std::int64_t>& sizes) {
  std::int64_t most = 0;
  for (std::size_t run = 0; run < dims.size(); ++run)
    most = std::max(most, Dims(dims[run]).elements() * sizes[run]);
  return most;
}

}  // namespace

std::string Generator::tensor(DType dtype, int min_rank, int max_rank) {
  if (random_.chance(85)) {
    auto found = find([&](const std::string& name) {
      return this->dtype(name) == dtype && rank(name) >= min_rank && rank(name) <= max_rank;
    });
    if (!found.empty()) return found;
  }
  const auto axes = static_cast<std::size_t>(
      random_.between(min_rank, std::max(min_rank, std::min(max_rank, 4))));
  Lists wanted(runs());
  static constexpr std::array kSizes = {1, 2, 3, 4, 5, 8, 16, 3, 2, 4};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::int64_t> size(runs(), random_.pick(kSizes));
    if (random_.chance(3)) size.assign(runs(), 0);
    if (!symbols_.empty() && random_.chance(45)) size = random_.pick(symbols_).second;
    if (most_of(wanted, size) > most_elements_) size.assign(runs(), 1);
    for (std::size_t run = 0; run < runs(); ++run) wanted[run].push_back(size[run]);
  }
  if (all_equal(wanted) && random_.chance(25)) return constant(dtype, Dims(wanted[0]));
  return input(dtype, wanted);
}

std::string Generator::numbers(int min_rank, int max_rank) {
  static constexpr std::array kTypes = {DType::kF32, DType::kF32, DType::kF32, DType::kF32,
                                        DType::kF32, DType::kF32, DType::kI64, DType::kI64,
                                        DType::kI32, DType::kU8,  DType::kI8};
  return tensor(random_.pick(kTypes), min_rank, max_rank);
}

std::string Generator::partner(const std::string& other, DType dtype) {
  const auto broadcasts = [&](const std::string& name) {
    if (this->dtype(name) != dtype) return false;
    for (std::size_t run = 0; run < runs(); ++run)
      if (!broadcast(dims(name, run), dims(other, run))) return false;
    return true;
  };
  if (random_.chance(65)) {
    auto found = find(broadcasts);
    if (!found.empty()) return found;
  }
  const int axes = rank(other);
  const int first = random_.chance(50) ? 0 : static_cast<int>(random_.between(0, axes));
  Lists wanted(runs());
  for (int axis = first; axis < axes; ++axis) {
    const bool one = random_.chance(30);
    for (std::size_t run = 0; run < runs(); ++run)
      wanted[run].push_back(one ? 1 : dims(other, run)[axis]);
  }
  if (all_equal(wanted) && random_.chance(60)) return constant(dtype, Dims(wanted[0]));
  return input(dtype, wanted);
}

Constant Generator::random_constant(DType dtype, const Dims& dims) {
  static constexpr std::array kSpecial = {std::numeric_limits<float>::quiet_NaN(),
                                          std::numeric_limits<float>::infinity(),
                                          -std::numeric_limits<float>::infinity(), -0.0F, 0.0F};
  const auto count = static_cast<std::size_t>(dims.elements());
  std::vector<float> floats(count);
  std::vector<std::int64_t> numbers(count);
  const std::int64_t style = random_.between(0, 3);
  const bool special = case_.special && random_.chance(50);
  for (std::size_t i = 0; i < count; ++i) {
    switch (style) {
      case 0:
        floats[i] = static_cast<float>(random_.between(-8, 8)) / 4;
        break;
      case 1:
        floats[i] = static_cast<float>(random_.unit());
        break;
      default:
        floats[i] = static_cast<float>(random_.unit() * 4 - 2);
    }
    if (special && random_.chance(10)) floats[i] = random_.pick(kSpecial);
    numbers[i] = style == 0 ? random_.between(0, 3) : random_.between(-4, 9);
  }
  if (dtype == DType::kF32) return tensor_of(dtype, dims, floats);
  if (dtype == DType::kBool)
    for (std::int64_t& number : numbers) number = random_.chance(50) ? 1 : 0;
  return integer_tensor(dtype, dims, numbers);
}

std::string Generator::constant(Constant value) {
  Level& level = *levels_.back();
  const Item item{fresh_name("c"), value.dtype};
  level.graph.constants.emplace_back(item.name, value);
  for (std::size_t run = 0; run < runs(); ++run) keep(level, item, run, value);
  return item.name;
}

std::string Generator::constant(DType dtype, const Dims& dims) {
  return constant(random_constant(dtype, dims));
}

std::string Generator::weights(const Dims& dims) {
  std::vector<float> elements(static_cast<std::size_t>(dims.elements()));
  for (float& element : elements) element = static_cast<float>(random_.between(-16, 16)) / 8;
  return floats(elements, dims);
}

std::string Generator::floats(const std::vector<float>& elements, const Dims& dims) {
  return constant(tensor_of(DType::kF32, dims, elements));
}

CaseDim Generator::dim_of(const std::vector<std::int64_t>& sizes) {
  const bool fixed = std::ranges::all_of(sizes, [&](auto size) { return size == sizes[0]; });
  if (fixed && random_.chance(85)) return sizes[0];
  for (const auto& [name, known] : symbols_)
    if (known == sizes) return name;
  if (random_.chance(15)) return std::monostate{};
  symbols_.emplace_back(fmt::format("d{}", symbols_.size()), sizes);
  return symbols_.back().first;
}

std::string Generator::input(DType dtype, const Lists& dims) {
  if (levels_.front()->graph.inputs.size() >= kMaxInputs && all_equal(dims))
    return constant(dtype, Dims(dims[0]));
  return new_input(dtype, dims);
}

std::string Generator::new_input(DType dtype, const Lists& dims) {
  Level& level = *levels_.front();
  const Item item{fresh_name("x"), dtype};
  CaseInput input{item.name, dtype, {}};
  for (std::size_t axis = 0; axis < dims[0].size(); ++axis) {
    std::vector<std::int64_t> sizes;
    for (std::size_t run = 0; run < runs(); ++run) sizes.push_back(dims[run][axis]);
    input.dims.push_back(dim_of(sizes));
  }
  level.graph.inputs.push_back(std::move(input));
  for (std::size_t run = 0; run < runs(); ++run) {
    case_.runs[run].push_back(random_constant(dtype, Dims(dims[run])));
    keep(level, item, run, case_.runs[run].back());
  }
  return item.name;
}

/// As an input of the whole graph.
std::string Generator::given(const Lists& elements, DType dtype, const Dims& shape) {
  Lists dims;
  for (const auto& list : elements) {
    dims.emplace_back(shape.begin(), shape.end());
    if (shape.rank() == 1) dims.back()[0] = static_cast<std::int64_t>(list.size());
  }
  if (levels_.front()->graph.inputs.size() >= kMaxInputs && all_equal(elements))
    return constant(integer_tensor(dtype, Dims(dims[0]), elements[0]));
  const std::string name = new_input(dtype, dims);
  for (std::size_t run = 0; run < runs(); ++run) {
    std::vector<std::int64_t> list = elements[run];
    // What only this run does wrong.
    if (errors_ && run > 0 && !list.empty() && random_.chance(60)) {
      // A single number may count the trips of a loop, whose tensors double in each.
      const std::int64_t most = shape.rank() == 0 ? 1 : 50;
      list[random_.below(list.size())] +=
          random_.pick(std::array<std::int64_t, 4>{most, -50, 1, -1});
    }
    case_.runs[run].back() = integer_tensor(dtype, Dims(dims[run]), list);
    levels_.front()->scopes[run].set(name, case_.runs[run].back());
  }
  return name;
}

/// As exporters compute shapes: sizes of other tensors beside numbers. Empty where none has them.
std::string Generator::from_shapes(const Lists& elements) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < elements[0].size(); ++i) {
    std::vector<std::int64_t> wanted;
    for (const auto& list : elements) wanted.push_back(list[i]);
    const auto axis_of = [&](const std::string& name) {
      int axis = 0;
      while (axis < rank(name) && sizes(name, axis) != wanted) ++axis;
      return axis;
    };
    const std::string source =
        find([&](const std::string& name) { return axis_of(name) < rank(name); });
    if (source.empty() || random_.chance(20)) {
      parts.push_back(integer(wanted, false));
      continue;
    }
    const std::int64_t axis = axis_of(source);
    Attributes range;
    range.set("start", axis);
    range.set("end", axis + 1);
    parts.push_back(add(OpKind::kShape, {source}, std::move(range)));
  }
  if (parts.empty() || std::ranges::any_of(parts, &std::string::empty)) return {};
  if (parts.size() == 1) return parts[0];
  Attributes axis;
  axis.set("axis", std::int64_t{0});
  return add(OpKind::kConcat, parts, std::move(axis));
}

std::string Generator::integers(const Lists& elements, DType dtype, std::optional<Dims> shape) {
  const Dims dims = shape.value_or(Dims{static_cast<std::int64_t>(elements[0].size())});
  const bool fixed = all_equal(elements);
  if (fixed && random_.chance(errors_ ? 20 : 50))
    return constant(integer_tensor(dtype, dims, elements[0]));
  const bool vector = dims.rank() == 1 && dtype == DType::kI64 &&
                      std::ranges::all_of(elements, [&](const auto& list) {
                        return list.size() == elements[0].size();
                      });
  if (vector && elements[0].size() > 1 && random_.chance(30)) {
    if (auto computed = from_shapes(elements); !computed.empty()) return computed;
  }
  const std::string name = given(elements, dtype, dims);
  if (random_.chance(70)) return name;
  // Computed while running, but never known before.
  const std::string zero = constant(integer_tensor(dtype, {}, {0}));
  const std::string computed = add(OpKind::kAdd, {name, zero});
  return computed.empty() ? name : computed;
}

std::string Generator::integer(const std::vector<std::int64_t>& per_run, bool scalar) {
  Lists lists;
  for (const std::int64_t number : per_run) lists.push_back({number});
  return integers(lists, DType::kI64, scalar ? Dims{} : Dims{1});
}

}  // namespace parallax::fuzz
