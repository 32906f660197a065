// LabelEncoder, CategoryMapper, OneHotEncoder: elements are looked up in lists.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "base/status.h"
#include "ir/strings.h"
#include "kernels/objects/kernels.h"
#include "ops/params/labels.h"

namespace parallax {
namespace {

/// An element that can be looked up: an integer, the bits of a float, or a string.
using Label = std::variant<std::int64_t, double, std::string>;

/// Orders NaN after all numbers and equal to itself.
struct LabelLess {
  bool operator()(const Label& a, const Label& b) const {
    const auto* const x = std::get_if<double>(&a);
    const auto* const y = std::get_if<double>(&b);
    if (x == nullptr || y == nullptr) return a < b;
    if (std::isnan(*x) || std::isnan(*y)) return !std::isnan(*x) && std::isnan(*y);
    return *x < *y;
  }
};

constexpr DTypeSet kLabelNumbers = dtype_bit(DType::kF32) | dtype_bit(DType::kF64) |
                                   dtype_bit(DType::kI16) | dtype_bit(DType::kI32) |
                                   dtype_bit(DType::kI64);

/// Bytes of any alignment.
std::vector<Label> labels_of(DType dtype, std::span<const std::byte> bytes) {
  std::vector<Label> labels;
  dispatch<kLabelNumbers>(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes.data() + at, sizeof element);
      if constexpr (std::is_floating_point_v<T>) {
        labels.emplace_back(static_cast<double>(element));
      } else {
        labels.emplace_back(static_cast<std::int64_t>(element));
      }
    }
  });
  return labels;
}

std::vector<Label> labels_of(const Constant& constant) {
  if (constant.dtype != DType::kString) return labels_of(constant.dtype, constant.bytes);
  const auto strings = strings_of(constant);
  return strings ? std::vector<Label>(strings->begin(), strings->end()) : std::vector<Label>();
}

std::vector<Label> labels_of(const Object& tensor) {
  if (tensor.dtype() != DType::kString)
    return labels_of(tensor.dtype(), tensor.tensor_view().bytes);
  return {tensor.strings().begin(), tensor.strings().end()};
}

std::vector<Label> labels_of(const OneOfLists& lists) {
  if (lists.floats) return {lists.floats->begin(), lists.floats->end()};
  if (lists.int64s) return {lists.int64s->begin(), lists.int64s->end()};
  if (lists.strings) return {lists.strings->begin(), lists.strings->end()};
  return lists.tensor ? labels_of(*lists.tensor) : std::vector<Label>();
}

Label default_label(const LabelEncoderParams& params, DType dtype) {
  if (params.default_tensor) {
    auto labels = labels_of(*params.default_tensor);
    if (labels.size() == 1) return labels[0];
  }
  switch (info_of(dtype).kind) {
    case DTypeClass::kString:
      return params.default_string;
    case DTypeClass::kFloat:
      return static_cast<double>(params.default_float);
    default:
      return params.default_int64;
  }
}

/// Element i of `keys` becomes element i of `values`, any other `otherwise`.
struct LabelCode {
  std::vector<Label> keys, values;
  Label otherwise;
};

LabelCode code_of_encoder(const Node& encoder, DType to) {
  const auto params = params_of<LabelEncoderParams>(encoder);
  return {labels_of(params.keys), labels_of(params.values), default_label(params, to)};
}

LabelCode code_of_mapper(const Node& mapper, DType to) {
  const auto params = params_of<CategoryMapperParams>(mapper);
  std::vector<Label> numbers(params.cats_int64s.begin(), params.cats_int64s.end());
  std::vector<Label> strings(params.cats_strings.begin(), params.cats_strings.end());
  if (to == DType::kString) return {std::move(numbers), std::move(strings), params.default_string};
  return {std::move(strings), std::move(numbers), params.default_int64};
}

using Places = std::map<Label, std::size_t, LabelLess>;

Places places_of(const std::vector<Label>& labels) {
  Places places;
  for (std::size_t i = 0; i < labels.size(); ++i) places.insert_or_assign(labels[i], i);
  return places;
}

void store_label(DType dtype, const Label& label, std::byte* bytes, std::size_t i) {
  dispatch<kLabelNumbers>(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T element{};
    if constexpr (std::is_floating_point_v<T>) {
      element = static_cast<T>(std::get<double>(label));
    } else {
      element = static_cast<T>(std::get<std::int64_t>(label));
    }
    std::memcpy(bytes + i * sizeof element, &element, sizeof element);
  });
}

Status write_labels(const ObjectCall& call, const std::vector<const Label*>& labels) {
  const DType dtype = call.output_types[0];
  const Dims& dims = call.input(0)->dims();
  if (dtype == DType::kString) {
    PX_ASSIGN(const auto room,
              call.memory.take(static_cast<std::int64_t>(labels.size() * sizeof(std::string))));
    std::vector<std::string> texts;
    texts.reserve(labels.size());
    for (const Label* label : labels) texts.push_back(std::get<std::string>(*label));
    PX_ASSIGN(call.outputs[0], make_object(call, dims, std::move(texts)));
    return {};
  }
  PX_ASSIGN(Tensor tensor, take_tensor(call, dtype, dims));
  std::byte* const bytes = tensor.mutable_view().bytes.data();
  for (std::size_t i = 0; i < labels.size(); ++i) store_label(dtype, *labels[i], bytes, i);
  PX_ASSIGN(call.outputs[0], counted(call, std::move(tensor)));
  return {};
}

/// Returns an element as an integer, cast as OneHotEncoder does; nullopt if i64 cannot hold it.
std::optional<std::int64_t> whole(const Label& label) {
  if (const auto* const i = std::get_if<std::int64_t>(&label)) return *i;
  const double x = std::trunc(std::get<double>(label));
  constexpr double kEnd = 9223372036854775808.0;
  if (x >= -kEnd && x < kEnd) return static_cast<std::int64_t>(x);
  return std::nullopt;
}

}  // namespace

Status encode_labels(const ObjectCall& call) {
  const bool mapper = call.node.op == OpKind::kCategoryMapper;
  const LabelCode code = mapper ? code_of_mapper(call.node, call.output_types[0])
                                : code_of_encoder(call.node, call.output_types[0]);
  const Places places = places_of(code.keys);
  const std::vector<Label> elements = labels_of(*call.input(0));
  std::vector<const Label*> found;
  found.reserve(elements.size());
  for (const Label& element : elements) {
    const auto place = places.find(element);
    found.push_back(place == places.end() ? &code.otherwise : &code.values.at(place->second));
  }
  return write_labels(call, found);
}

Status encode_one_hot(const ObjectCall& call) {
  const Object& input = *call.input(0);
  const auto params = params_of<OneHotEncoderParams>(call.node);
  const std::vector<Label> cats = labels_of(params.cats);
  const Places places = places_of(cats);
  Dims dims = input.dims();
  if (dims.rank() == Dims::kMaxRank)
    return tl::unexpected(object_error(call, ErrorCode::kUnsupported, "too many dimensions"));
  dims.push_back(std::ssize(cats));
  PX_ASSIGN(Tensor tensor, take_tensor(call, DType::kF32, dims));
  auto* row = tensor.mutable_view().as<float>();
  for (Label& element : labels_of(input)) {
    if (input.dtype() != DType::kString) {
      const auto integer = whole(element);
      element = integer ? Label(*integer) : Label(std::string());
    }
    const auto place = places.find(element);
    if (place != places.end()) {
      row[place->second] = 1;
    } else if (!params.zeros) {
      return tl::unexpected(
          object_error(call, ErrorCode::kInvalidInput, "an element is in no category"));
    }
    row += cats.size();
  }
  PX_ASSIGN(call.outputs[0], counted(call, std::move(tensor)));
  return {};
}

}  // namespace parallax
