// ZipMap, DictVectorizer, CastMap.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/status.h"
#include "kernels/objects/cast_strings.h"
#include "kernels/objects/kernels.h"
#include "ops/params/labels.h"

namespace parallax {
namespace {

tl::unexpected<Error> bad_map(const ObjectCall& call, ErrorCode code, std::string message) {
  return tl::unexpected(object_error(call, code, std::move(message)));
}

Result<Object> i64_list(const ObjectCall& call, std::span<const std::int64_t> list) {
  PX_ASSIGN(Tensor tensor, take_tensor(call, DType::kI64, Dims{std::ssize(list)}));
  std::ranges::copy(list, tensor.mutable_view().as<std::int64_t>());
  return counted(call, std::move(tensor));
}

/// The integers or strings of an attribute.
Result<Object> keys_of(const ObjectCall& call, OneOfLists lists) {
  if (lists.int64s) return i64_list(call, *lists.int64s);
  std::vector<std::string> texts = std::move(lists.strings).value_or(std::vector<std::string>());
  const Dims dims{std::ssize(texts)};
  return make_object(call, dims, std::move(texts));
}

/// Returns the index in `keys` of each key, the first one for duplicates.
template <class Key>
std::map<Key, std::int64_t> places(std::span<const Key> keys) {
  std::map<Key, std::int64_t> result;
  for (std::size_t i = 0; i < keys.size(); ++i)
    result.emplace(keys[i], static_cast<std::int64_t>(i));
  return result;
}

std::span<const std::int64_t> integers_in(const Object& tensor) {
  return {tensor.tensor_view().as<std::int64_t>(),
          static_cast<std::size_t>(tensor.dims().elements())};
}

/// Returns for each key of the map its index in the vocabulary. Errors: kInvalidInput for a key
/// that the vocabulary lacks.
template <class Key>
Result<std::vector<std::int64_t>> look_up(const ObjectCall& call, std::span<const Key> keys,
                                          std::span<const Key> vocabulary) {
  const auto known = places(vocabulary);
  std::vector<std::int64_t> found;
  for (const Key& key : keys) {
    const auto place = known.find(key);
    if (place == known.end())
      return bad_map(call, ErrorCode::kInvalidInput,
                     fmt::format("the vocabulary has no key '{}'", key));
    found.push_back(place->second);
  }
  return found;
}

/// Returns a tensor [1, length] with `values[i]` at position `at[i]`, zeros elsewhere.
Result<Object> spread(const ObjectCall& call, const Object& values,
                      std::span<const std::int64_t> at, std::int64_t length) {
  const Dims dims{1, length};
  if (values.dtype() == DType::kString) {
    PX_ASSIGN(const auto room,
              call.memory.take(length * static_cast<std::int64_t>(sizeof(std::string))));
    std::vector<std::string> texts(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < at.size(); ++i)
      texts[static_cast<std::size_t>(at[i])] = values.strings()[i];
    return make_object(call, dims, std::move(texts));
  }
  PX_ASSIGN(Tensor tensor, take_tensor(call, values.dtype(), dims));
  const auto size = static_cast<std::size_t>(size_of(values.dtype()));
  const TensorView from = values.tensor_view();
  for (std::size_t i = 0; i < at.size(); ++i)
    std::memcpy(tensor.mutable_view().bytes.data() + static_cast<std::size_t>(at[i]) * size,
                from.bytes.data() + i * size, size);
  return counted(call, std::move(tensor));
}

/// The values of a map in another type. Floats lose their fraction and stop at the ends of i64; NaN
/// is 0.
Result<Object> converted(const ObjectCall& call, const Object& values, DType to) {
  if (values.dtype() == to) return values;
  if (values.dtype() == DType::kString || to == DType::kString)
    return cast_object(call, values, to);
  PX_ASSIGN(Tensor tensor, take_tensor(call, to, values.dims()));
  const auto* from = values.tensor_view().as<float>();
  constexpr float kEnd = 9223372036854775808.0F;
  using Limits = std::numeric_limits<std::int64_t>;
  for (std::int64_t& value : std::span(tensor.mutable_view().as<std::int64_t>(),
                                       static_cast<std::size_t>(values.dims().elements()))) {
    const float x = *from++;
    value = std::isnan(x) ? 0
            : x >= kEnd   ? Limits::max()
            : x < -kEnd   ? Limits::min()
                          : static_cast<std::int64_t>(x);
  }
  return counted(call, std::move(tensor));
}

}  // namespace

Status zip_map(const ObjectCall& call) {
  const Object& input = *call.input(0);
  PX_ASSIGN(const Object keys, keys_of(call, params_of<ZipMapParams>(call.node).classlabels));
  const Dims& dims = input.dims();
  const std::int64_t width = keys.dims()[0], rows = dims.rank() == 2 ? dims[0] : 1;
  if (dims[dims.rank() - 1] != width)
    return bad_map(call, ErrorCode::kInvalidInput,
                   fmt::format("rows of {} for {} keys", dims[dims.rank() - 1], width));
  std::vector<Object> maps;
  const auto* from = input.tensor_view().as<float>();
  for (std::int64_t row = 0; row < rows; ++row, from += width) {
    PX_ASSIGN(Tensor values, take_tensor(call, DType::kF32, Dims{width}));
    std::copy_n(from, width, values.mutable_view().as<float>());
    PX_ASSIGN(Object list, counted(call, std::move(values)));
    PX_ASSIGN(maps.emplace_back(), Object::map(keys, std::move(list)));
  }
  PX_ASSIGN(auto charge, call.memory.take(rows * static_cast<std::int64_t>(sizeof(Object))));
  call.outputs[0] = Object::sequence(std::move(maps), std::move(charge));
  return {};
}

Status vectorize_map(const ObjectCall& call) {
  const Object& keys = call.input(0)->elements()[0];
  PX_ASSIGN(const Object vocabulary,
            keys_of(call, params_of<DictVectorizerParams>(call.node).vocabulary));
  std::vector<std::int64_t> at;
  if (keys.dtype() == DType::kString) {
    PX_ASSIGN(at, look_up(call, keys.strings(), vocabulary.strings()));
  } else {
    PX_ASSIGN(at, look_up(call, integers_in(keys), integers_in(vocabulary)));
  }
  PX_ASSIGN(call.outputs[0], spread(call, call.input(0)->elements()[1], at, vocabulary.dims()[0]));
  return {};
}

Status cast_map(const ObjectCall& call) {
  const Object& keys = call.input(0)->elements()[0];
  PX_ASSIGN(const Object values,
            converted(call, call.input(0)->elements()[1], call.output_types[0]));
  const auto list = integers_in(keys);
  std::vector<std::int64_t> at(list.begin(), list.end());
  std::int64_t length = std::ssize(at);
  const auto params = params_of<CastMapParams>(call.node);
  if (params.map_form == MapForm::kSparse) {
    length = params.max_map;
    for (const std::int64_t key : at)
      if (key < 0 || key >= length)
        return bad_map(call, ErrorCode::kOutOfRange,
                       fmt::format("the key {} where max_map is {}", key, length));
  } else {
    // Values go by the order of their keys.
    std::ranges::sort(at);
    const auto order = places<std::int64_t>(at);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = order.at(list[i]);
  }
  PX_ASSIGN(call.outputs[0], spread(call, values, at, length));
  return {};
}

}  // namespace parallax
