// Inputs and outputs of a run: Python's objects as the library reads them, and back. Threads: all
// calls hold the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <string>
#include <vector>

#include "buffer.h"
#include "parallax/parallax.h"

namespace parallax::python {

/// Holds the inputs of one run, and all that they refer to.
struct Inputs {
  std::vector<NamedInput> named;
  std::deque<Buffer> buffers;  ///< hold tensors of numbers; they must not move
  std::deque<Tensor> packed;   ///< tensors of elements smaller than a byte
  std::vector<nb::object> names;
};

/// Appends a value of Python as the model's input `info`. Memory that is dense, aligned and of a
/// type of the library's is used in place; other values are converted to a new array
/// (parallax/_arrays.py). Raises InvalidInputError for a value that no tensor can be made of.
void add_input(const TensorInfo& info, nb::handle value, Inputs& inputs);
/// Returns a view of a dense array made of `value`; the buffer that holds it is appended to
/// `inputs`.
TensorView view_of(nb::handle value, DType dtype, Inputs& inputs);

/// Returns an array that may only be read, as objects share their memory; strings as an array of
/// Python's str; sequences as a list, maps as a dict, an absent optional as None.
nb::object to_python(const Object& object);

}  // namespace parallax::python
