#include "buffer.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace parallax::python {
namespace {

/// Returns the type of a format of Python's module struct, of one element.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return DType::kU8;
  if (*format == '@' || *format == '=' ||
      *format == (std::endian::native == std::endian::little ? '<' : '>'))
    ++format;
  if (*format == '\0' || format[1] != '\0') return std::nullopt;
  const auto sized = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : eight;
  };
  switch (*format) {
    case '?':
      return DType::kBool;
    case 'e':
      return DType::kF16;
    case 'f':
      return DType::kF32;
    case 'd':
      return DType::kF64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return sized(DType::kI8, DType::kI16, DType::kI32, DType::kI64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return sized(DType::kU8, DType::kU16, DType::kU32, DType::kU64);
    default:
      return std::nullopt;
  }
}

}  // namespace

Buffer::~Buffer() {
  if (held_) PyBuffer_Release(&view_);
}

bool Buffer::acquire(nb::handle object) {
  // Without PyObject_CheckBuffer each refusal would make an exception.
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  held_ = PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
  if (!held_) PyErr_Clear();
  return held_;
}

std::span<const std::byte> Buffer::bytes() const {
  return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
}

std::optional<TensorView> Buffer::tensor() const {
  const auto dtype = dtype_of_format(view_.format, view_.itemsize);
  if (!dtype || view_.ndim > Dims::kMaxRank) return std::nullopt;
  if (reinterpret_cast<std::uintptr_t>(view_.buf) % alignment_of(*dtype) != 0) return std::nullopt;
  TensorView tensor{*dtype, {}, bytes()};
  for (int axis = 0; axis < view_.ndim; ++axis) tensor.dims.push_back(view_.shape[axis]);
  return tensor;
}

std::shared_ptr<Buffer> make_shared_buffer() {
  return {new Buffer, [](Buffer* buffer) {
            if (Py_IsInitialized() == 0) return;  // the interpreter has taken its memory back
            const nb::gil_scoped_acquire held;
            delete buffer;
          }};
}

}  // namespace parallax::python
