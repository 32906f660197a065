#include "errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

namespace parallax::python {

namespace nb = nanobind;

void raise(const Error& error) {
  const nb::object make = nb::module_::import_("parallax._errors").attr("make");
  const nb::object exception =
      make(to_string(error.code), to_string(error.stage), error.node, error.to_string());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void raise_invalid(std::string message) {
  raise({Stage::kSession, ErrorCode::kInvalidInput, "", std::move(message)});
}

}  // namespace parallax::python
