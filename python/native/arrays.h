// NumPy arrays of the library's memory, and the correspondence of element types. Threads: the GIL
// is held by all callers.
#pragma once

#include <nanobind/nanobind.h>

#include "parallax/tensor.h"

namespace parallax::python {

namespace nb = nanobind;

/// Returns the module parallax._arrays, which does what needs NumPy's own functions.
nb::module_ arrays();
/// Returns the sizes as a tuple of int.
nb::tuple dims_to_tuple(const Dims& dims);

/// Returns the integers of NumPy that hold the bits of a float that it lacks; `dtype` itself for
/// all types that it has.
DType bits_type(DType dtype);
/// Returns the type with a byte or more an element to which elements smaller than a byte are
/// unpacked; `dtype` itself for all others.
DType wide_type(DType dtype);

/// Returns an array over the memory of `tensor`, which `owner` keeps until the array and all its
/// views are gone; then `free(owner)` is called.
nb::object view_to_array(const TensorView& tensor, void* owner, void (*free)(void*) noexcept,
                         bool read_only);
/// Returns an array that owns the memory of `tensor`.
nb::object to_array(Tensor tensor);

}  // namespace parallax::python
