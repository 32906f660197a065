#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <memory>
#include <utility>

#include "errors.h"
#include "parallax/elements.h"

namespace parallax::python {
namespace {

nb::dlpack::dtype dlpack_type(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  const auto bits = static_cast<std::uint8_t>(info.bits);
  switch (info.kind) {
    case DTypeClass::kFloat:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), bits, 1};
    case DTypeClass::kSigned:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int), bits, 1};
    case DTypeClass::kUnsigned:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt), bits, 1};
    default:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool), bits, 1};
  }
}

/// Returns the same numbers with at least a byte each.
Tensor unpack(const TensorView& packed) {
  Tensor wide = value_or_raise(Tensor::allocate(wide_type(packed.dtype), packed.dims));
  const auto read = [&](auto span) { read_elements(packed.dtype, packed.bytes.data(), 0, span); };
  if (wide.dtype() == DType::kF32)
    read(wide.data<float>());
  else if (wide.dtype() == DType::kI8)
    read(wide.data<std::int8_t>());
  else
    read(wide.data<std::uint8_t>());
  return wide;
}

template <class... Options>
nb::object export_array(const TensorView& tensor, nb::capsule owner) {
  std::array<std::size_t, Dims::kMaxRank> shape{};
  for (int axis = 0; axis < tensor.dims.rank(); ++axis)
    shape[static_cast<std::size_t>(axis)] = static_cast<std::size_t>(tensor.dims[axis]);
  const nb::ndarray<nb::numpy, Options...> array(
      const_cast<std::byte*>(tensor.bytes.data()), static_cast<std::size_t>(tensor.dims.rank()),
      shape.data(), std::move(owner), nullptr, dlpack_type(tensor.dtype));
  return nb::cast(array);
}

}  // namespace

nb::module_ arrays() { return nb::module_::import_("parallax._arrays"); }

nb::tuple dims_to_tuple(const Dims& dims) {
  nb::list sizes;
  for (const std::int64_t size : dims) sizes.append(size);
  return nb::tuple(sizes);
}

DType bits_type(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  if (info.kind != DTypeClass::kFloat || dtype == DType::kF16) return dtype;
  return info.bits == 16 ? DType::kU16 : info.bits == 8 ? DType::kU8 : dtype;
}

DType wide_type(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  if (info.bits == 0 || info.bits >= 8) return dtype;
  return info.kind == DTypeClass::kFloat    ? DType::kF32
         : info.kind == DTypeClass::kSigned ? DType::kI8
                                            : DType::kU8;
}

nb::object view_to_array(const TensorView& tensor, void* owner, void (*free)(void*) noexcept,
                         bool read_only) {
  nb::capsule held(owner, free);
  if (wide_type(tensor.dtype) != tensor.dtype)
    return arrays().attr("named")(to_array(unpack(tensor)), to_string(tensor.dtype));
  TensorView bits = tensor;
  bits.dtype = bits_type(tensor.dtype);
  nb::object array = read_only ? export_array<nb::ro>(bits, std::move(held))
                               : export_array<>(bits, std::move(held));
  if (bits.dtype == tensor.dtype) return array;
  return arrays().attr("named")(array, to_string(tensor.dtype));
}

nb::object to_array(Tensor tensor) {
  auto owner = std::make_unique<Tensor>(std::move(tensor));
  const TensorView view = owner->view();
  return view_to_array(
      view, owner.release(), [](void* owned) noexcept { delete static_cast<Tensor*>(owned); },
      false);
}

}  // namespace parallax::python
