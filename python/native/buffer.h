// Memory of a Python object that has the buffer protocol, used in place: NumPy's arrays, bytes,
// memoryview, array.array. Threads: made and read with the GIL held.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "parallax/tensor.h"

namespace parallax::python {

namespace nb = nanobind;

/// Keeps the memory of an object alive and in its place while it lives.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// Takes hold of the object's memory. False if it has no buffer of dense rows, and then no
  /// Python error is set.
  bool acquire(nb::handle object);
  /// All bytes. REQUIRES: acquire() returned true.
  std::span<const std::byte> bytes() const;
  /// Returns a view as a run reads it: dense, aligned, of a type that both NumPy and ONNX have;
  /// nullopt for any other memory. REQUIRES: acquire() returned true.
  std::optional<TensorView> tensor() const;

 private:
  Py_buffer view_ = {};
  bool held_ = false;
};

/// Returns a buffer that any thread may destroy, with or without the GIL.
std::shared_ptr<Buffer> make_shared_buffer();

}  // namespace parallax::python
