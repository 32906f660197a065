#include "values.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "errors.h"

namespace parallax::python {
namespace {

Dims dims_of(const std::vector<std::int64_t>& sizes) {
  return value_or_raise(Dims::checked(sizes));
}

/// Packs the numbers of an array of i8, u8 or f32 as elements of `dtype`, smaller than a byte.
Tensor pack(DType dtype, const TensorView& wide) {
  Tensor packed = value_or_raise(Tensor::allocate(dtype, wide.dims));
  std::vector<float> numbers(static_cast<std::size_t>(wide.dims.elements()));
  read_elements<float>(wide.dtype, wide.bytes.data(), 0, numbers);
  write_elements<float>(dtype, numbers, packed.mutable_view().bytes.data(), 0);
  std::vector<float> written(numbers.size());
  read_elements<float>(dtype, packed.view().bytes.data(), 0, written);
  if (written != numbers) raise_invalid("a number is not one of " + std::string(to_string(dtype)));
  return packed;
}

/// A dense tensor in memory that a buffer holds. `tensor` has the type that the model expects, if
/// the value could be made so, or one with wider elements of the same numbers.
struct Dense {
  TensorView tensor;
  bool wide = false;
};

/// Returns the value's tensor, in memory that the buffer holds which `next` returned last: one for
/// the value itself, a second one for the array that it is converted to.
template <class Next>
Dense dense_of(nb::handle value, DType dtype, Next next) {
  if (Buffer& buffer = next(); buffer.acquire(value))
    if (const auto tensor = buffer.tensor(); tensor && tensor->dtype == dtype) return {*tensor};
  const nb::object array = arrays().attr("dense")(value, to_string(dtype));
  Buffer& buffer = next();
  auto tensor = buffer.acquire(array) ? buffer.tensor() : std::nullopt;
  if (!tensor) {
    raise_invalid("expected an array of " + std::string(to_string(dtype)) +
                  " with at most 8 dimensions, not one of " +
                  nb::cast<std::string>(nb::str(nb::object(array.attr("dtype")))));
  }
  if (bits_type(dtype) == tensor->dtype) tensor->dtype = dtype;
  return {*tensor, wide_type(dtype) == tensor->dtype && tensor->dtype != dtype};
}

/// Makes an Object of a tensor of numbers.
Object number_object(nb::handle value, DType dtype) {
  std::shared_ptr<Buffer> buffer;
  const auto next = [&]() -> Buffer& { return *(buffer = make_shared_buffer()); };
  const Dense dense = dense_of(value, dtype, next);
  return dense.wide ? Object::tensor(pack(dtype, dense.tensor))
                    : Object::view(dense.tensor, buffer);
}

Object string_object(nb::handle value) {
  const auto [sizes, texts] =
      nb::cast<std::pair<std::vector<std::int64_t>, std::vector<std::string>>>(
          arrays().attr("strings")(value));
  return value_or_raise(Object::strings(dims_of(sizes), texts));
}

/// Makes the value inside the containers from number `depth` on.
Object make_object(const TensorInfo& info, nb::handle value, std::size_t depth) {
  if (depth == info.containers.size())
    return info.dtype == DType::kString ? string_object(value) : number_object(value, info.dtype);
  const auto tensor = [](nb::handle array, DType dtype) {
    return dtype == DType::kString ? string_object(array) : number_object(array, dtype);
  };
  switch (info.containers[depth]) {
    case ObjectType::kOptional:
      return value.is_none() ? Object() : Object::optional(make_object(info, value, depth + 1));
    case ObjectType::kSequence: {
      std::vector<Object> elements;
      for (const nb::handle element : value)
        elements.push_back(make_object(info, element, depth + 1));
      return Object::sequence(std::move(elements));
    }
    case ObjectType::kMap: {
      if (!nb::isinstance<nb::dict>(value))
        raise_invalid("input '" + info.name + "' must be a dict");
      const auto entries = nb::borrow<nb::dict>(value);
      return value_or_raise(Object::map(tensor(nb::list(entries.keys()), info.key),
                                        tensor(nb::list(entries.values()), info.dtype)));
    }
    default:
      return make_object(info, value, depth + 1);
  }
}

nb::object strings_to_python(const Object& object) {
  nb::list texts;
  for (const std::string& text : object.strings())
    texts.append(nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
  return arrays().attr("from_strings")(texts, dims_to_tuple(object.dims()));
}

}  // namespace

TensorView view_of(nb::handle value, DType dtype, Inputs& inputs) {
  const auto next = [&]() -> Buffer& { return inputs.buffers.emplace_back(); };
  const Dense dense = dense_of(value, dtype, next);
  if (!dense.wide) return dense.tensor;
  return inputs.packed.emplace_back(pack(dtype, dense.tensor)).view();
}

void add_input(const TensorInfo& info, nb::handle value, Inputs& inputs) {
  NamedInput& input = inputs.named.emplace_back();
  input.name = info.name;
  if (info.containers.empty() && info.dtype != DType::kString)
    input.tensor = view_of(value, info.dtype, inputs);
  else
    input.object = make_object(info, value, 0);
}

nb::object to_python(const Object& object) {
  switch (object.type()) {
    case ObjectType::kTensor:
      if (object.dtype() == DType::kString) return strings_to_python(object);
      return view_to_array(
          object.tensor_view(), new Object(object),
          [](void* owner) noexcept { delete static_cast<Object*>(owner); }, true);
    case ObjectType::kSequence: {
      nb::list elements;
      for (const Object& element : object.elements()) elements.append(to_python(element));
      return elements;
    }
    case ObjectType::kMap:
      return arrays().attr("from_map")(to_python(object.elements()[0]),
                                       to_python(object.elements()[1]));
    default:
      return object.elements().empty() ? nb::none() : to_python(object.elements()[0]);
  }
}

}  // namespace parallax::python
